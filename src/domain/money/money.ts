/**
 * Money is an integer of the currency's smallest unit, never a fraction. A JavaScript number is exact for integers
 * below 2^53; the largest amount is below 10^12 and a payment has at most 50 captures, so no sum comes near. Every
 * result is asserted all the same.
 */
import { strict as assert } from 'node:assert'

export interface Money {
  readonly value: number
  readonly currency: string
}

/** The largest amount that the API accepts. */
export const maximumAmount = 999_999_999_999

export function exact(value: number): number {
  assert(Number.isSafeInteger(value), `not a whole amount: ${value}`)
  return value
}

export const add = (a: number, b: number): number => exact(exact(a) + exact(b))

export function subtract(a: number, b: number): number {
  const rest = exact(exact(a) - exact(b))
  assert(rest >= 0, `an amount below zero: ${a} - ${b}`)
  return rest
}

/** Rounded down, without floating point: 115 % of 101 is 116. */
export function percentOf(value: number, percent: number): number {
  const product = exact(exact(value) * exact(percent))
  return exact((product - (product % 100)) / 100)
}
