// The secret of a token: `hf_` and 244 random bits. Only its SHA-256 is stored.

import { createHash } from "node:crypto";
import type { World } from "../../kernel/world.js";

export function newSecret(world: World): { readonly secret: string; readonly hash: string } {
  const bits = `${world.token()}${world.token()}`.replaceAll("-", "");
  const secret = `hf_${Buffer.from(bits, "hex").toString("base64url")}`;
  return { secret, hash: hashOf(secret) };
}

export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
