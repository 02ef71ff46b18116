// Asks for a token when the server wants one. It stays in this tab.

import { setToken } from "../live/api.js";

export function SignIn() {
  const submit = (event: Event) => {
    event.preventDefault();
    const token = String(new FormData(event.currentTarget as HTMLFormElement).get("token") ?? "").trim();
    if (token !== "") setToken(token);
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit} class="panel">
        <h1>Holdfast</h1>
        <p>This server asks for a token. An administrator creates one under Settings, or with the command line.</p>
        <label class="field">
          <span>Token</span>
          <input name="token" type="password" autocomplete="off" required placeholder="hf_…" />
        </label>
        <button type="submit" class="button is-primary">
          Continue
        </button>
        <p class="muted">The token is kept in this tab only and is forgotten when you close it.</p>
      </form>
    </main>
  );
}
