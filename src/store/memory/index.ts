// Public exports of `holdfast/memory`.

export { TransactionEnded } from "../check/transaction.js";
export { memoryStore } from "./memory-store.js";
export { memoryTransaction, TransactionConflict, TransactionUnsupported } from "./table/transaction.js";
