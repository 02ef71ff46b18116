// The status of an instance of a machine, as a tone.

export const INSTANCE_TONES: Readonly<Record<string, string>> = {
  active: "is-note",
  done: "is-good",
  error: "is-bad",
  stopped: "",
};
