/**
 * The result of a rule: accepted, or refused with one reason from a closed list. When several reasons apply, the first
 * check that fails names the reason; the order of the checks is part of the API contract.
 */
import type { Refusal } from '#domain/response-codes.ts'

export type Decision = { readonly accepted: true } | { readonly accepted: false; readonly refusal: Refusal }

export const accept: Decision = { accepted: true }

export const refuse = (refusal: Refusal): Decision => ({ accepted: false, refusal })
