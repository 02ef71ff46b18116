// A node's name with its stripe, the same colour on every page.

import { holderName } from "../draw/owner-lane.js";
import { ownerStripe } from "../draw/owner-stripe.js";
import type { Holder } from "../live/model.js";
import { href } from "../live/router.js";

export function Owner({ holder, plain = false }: { readonly holder: Holder | null; readonly plain?: boolean }) {
  if (holder === null) return <span class="muted">–</span>;
  const name = holderName(holder);
  const stripe = <span class={`stripe own-${ownerStripe(name)}`} />;
  if (plain)
    return (
      <span class="owner">
        {stripe}
        {name}
      </span>
    );
  return (
    <a class="owner" href={href(`/nodes/${holder.incarnation}`)}>
      {stripe}
      {name}
    </a>
  );
}
