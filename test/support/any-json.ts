/** What tests read from answers, records and messages: of every shape, and each test checks what it reads. */

// biome-ignore lint/suspicious/noExplicitAny: with unknown every look at a field would need a type of its own.
export type AnyJson = any
