// The verbs of one run. Each names its effect, asks once, and shows the store's answer.

import { call } from "../live/api.js";
import { ENDED_STATES, RETRYABLE_STATES, type RunDetail } from "../live/model.js";
import { go } from "../live/router.js";
import { saidBy, Verb } from "./verb.js";

interface RunVerbProps {
  readonly run: RunDetail;
  readonly then: () => void;
}

const noteOf = (note: string | undefined) => (note ? { note } : {});

export function RunVerbs({ run, then }: RunVerbProps) {
  const isLive = !ENDED_STATES.includes(run.state);
  return (
    <div class="verbs" id="verbs">
      {isLive && <SignalVerb run={run} then={then} />}
      {isLive && <PauseVerb run={run} then={then} />}
      {RETRYABLE_STATES.includes(run.state) && <RetryVerb run={run} then={then} />}
      <Verb
        question={{
          title: "Start again with this input?",
          effect: "Starts a new run of the same program with the same input. This run stays as it is.",
          confirm: "Start",
        }}
        act={({ note }) => startAgain(run, note ?? "")}
      >
        Start again
      </Verb>
      {isLive && <CancelVerb run={run} then={then} />}
    </div>
  );
}

function SignalVerb({ run: { id }, then }: RunVerbProps) {
  return (
    <Verb
      question={{
        title: "Send a signal",
        effect: "The signal is stored in the run's inbox, also when the run does not wait for it yet.",
        confirm: "Send",
        fields: [
          { name: "name", label: "Signal", kind: "text", required: true },
          { name: "payload", label: "Payload (JSON)", kind: "json" },
        ],
      }}
      act={async ({ name = "", payload = "", note }) => {
        const given = payload.trim() === "" ? {} : { payload: JSON.parse(payload) };
        return saidBy(await call("runs.signal", { id, name, ...given, ...noteOf(note) }));
      }}
      then={then}
    >
      Signal…
    </Verb>
  );
}

function PauseVerb({ run: { id, state }, then }: RunVerbProps) {
  if (state === "paused") {
    return (
      <Verb question={null} act={async () => saidBy(await call("runs.resume", { id }))} then={then} primary>
        Resume
      </Verb>
    );
  }
  return (
    <Verb
      question={{
        title: "Pause this run?",
        effect: "It stops after its current step, with its tasks, until a person resumes it.",
        confirm: "Pause",
      }}
      act={async ({ note }) => saidBy(await call("runs.pause", { id, ...noteOf(note) }))}
      then={then}
    >
      Pause
    </Verb>
  );
}

function RetryVerb({ run: { id }, then }: RunVerbProps) {
  return (
    <Verb
      primary
      question={{
        title: "Retry this run?",
        effect:
          "It resumes where it failed. Finished steps are not repeated; the failed step runs again under the same key.",
        confirm: "Retry",
        fields: [
          {
            name: "from",
            label: "From",
            kind: "choice",
            choices: ["last", "start"],
            value: "last",
            help: "start: every step runs again in a new generation",
          },
        ],
      }}
      act={async ({ from, note }) =>
        saidBy(await call("runs.retry", { id, from: from === "start" ? "start" : "last", ...noteOf(note) }))
      }
      then={then}
    >
      Retry…
    </Verb>
  );
}

function CancelVerb({ run: { id }, then }: RunVerbProps) {
  return (
    <Verb
      danger
      question={{
        title: "Cancel this run?",
        effect: "It ends with its tasks. A step that runs now is asked to stop; what it did outside stays.",
        confirm: "Cancel the run",
        danger: true,
        fields: [{ name: "reason", label: "Reason, recorded in the run", kind: "text" }],
      }}
      act={async ({ reason = "", note }) =>
        saidBy(await call("runs.cancel", { id, ...(reason !== "" && { reason }), ...noteOf(note) }))
      }
      then={then}
    >
      Cancel
    </Verb>
  );
}

async function startAgain(run: RunDetail, note: string): Promise<string> {
  const { program, queue, stack, version } = run;
  const started = await call("runs.start", {
    program,
    queue,
    ...(stack !== null && { stack }),
    ...(version !== null && { version }),
    inputOf: run.id,
    ...(note !== "" && { note }),
  });
  go(`/runs/${started.id}`);
  return "Started.";
}
