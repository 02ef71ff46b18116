import { workflow } from "holdfast";

export const order = workflow("order", async (ctx, id) => ctx.step("charge", () => `charged ${id}, version 1`));
