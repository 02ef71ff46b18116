// The messages that a run has not taken yet.

import { bytes } from "../draw/words.js";
import { useRoute } from "../live/use-route.js";
import { Empty, Panel, Show } from "./panel.js";
import { Age } from "./time.js";

export function Inbox({ id }: { readonly id: string }) {
  const inbox = useRoute("runs.inbox", { id }, { everyMs: 5_000 });
  return (
    <Panel label="Inbox">
      <Show
        of={inbox}
        empty={{
          when: ({ messages }) => messages.length === 0,
          show: <Empty title="The run has read every message." />,
        }}
      >
        {({ messages }) => (
          <div class="table-box">
            <table class="cards">
              <thead>
                <tr>
                  <th>Kind</th>
                  <th>Name</th>
                  <th>Key</th>
                  <th>Sender</th>
                  <th>Sent</th>
                  <th class="right">Payload</th>
                </tr>
              </thead>
              <tbody>
                {messages.map((message) => (
                  <tr key={message.key}>
                    <td data-label="Kind">{message.kind}</td>
                    <td data-label="Name">{message.name}</td>
                    <td data-label="Key" class="mono muted">
                      {message.key}
                    </td>
                    <td data-label="Sender">{message.sender ?? "–"}</td>
                    <td data-label="Sent">
                      <Age at={message.at} suffix=" ago" />
                    </td>
                    <td data-label="Payload" class="right num">
                      {message.bytes === null ? "–" : bytes(message.bytes)}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Show>
    </Panel>
  );
}
