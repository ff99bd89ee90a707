/** The connector contract under the name it had while it was drafted. New code imports contract.ts. */
export type * from '#connectors/contract.ts'
