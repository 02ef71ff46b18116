// Exports of `holdfast/memory`: a store that lives and dies with its process, for tests, and its errors.

export { TransactionEnded } from "../check/transaction.js";
export { memoryStore } from "./memory-store.js";
export { memoryTransaction, TransactionConflict, TransactionUnsupported } from "./table/transaction.js";
