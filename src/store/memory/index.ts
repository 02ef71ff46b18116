// The public face of `holdfast/memory`.

export { memoryStore } from "./memory-store.js";
export { memoryTransaction, TransactionConflict, TransactionEnded, TransactionUnsupported } from "./transaction.js";
