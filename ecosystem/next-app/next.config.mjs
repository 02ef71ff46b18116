// Holdfast and the driver run as they are installed, outside the bundle.
export default { serverExternalPackages: ["holdfast", "pg"] };
