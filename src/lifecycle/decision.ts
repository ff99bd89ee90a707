/** The answer of a rule: go ahead, or one reason of the closed list why not. The order of checks is part of the contract. */
import type { Refusal } from '#domain/response-codes.ts'

export type Decision = { readonly accepted: true } | { readonly accepted: false; readonly refusal: Refusal }

export const accept: Decision = { accepted: true }

export const refuse = (refusal: Refusal): Decision => ({ accepted: false, refusal })
