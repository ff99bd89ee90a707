/**
 * Answers, records and messages as tests read them: of any shape, because each test checks the fields that it reads.
 */

// biome-ignore lint/suspicious/noExplicitAny: with unknown every access to a field would need a type of its own.
export type AnyJson = any
