// Stands for `holdfast/embedded` while examples are tested: the server of the test run, and a database of the example's own.
// That the real one starts is shown by its own tests and by the demonstration.

export async function startEmbedded() {
  const stop = async () => {};
  return { url: process.env["HOLDFAST_EXAMPLE_URL"]!, stop, [Symbol.asyncDispose]: stop };
}
