/**
 * The one fault of this folder that a user sees: whole sentences, what is wrong and what to do. No stack is
 * needed.
 */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
}
