/** Parsers and options that several commands share. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { isWebAddress, webAddressForm } from '#domain/text.ts'
import { parseBound } from '#domain/time/dates.ts'
import { addDuration } from '#domain/time/duration.ts'

export const jsonOption = (): Option => new Option('--json', 'print one line of JSON')

/**
 * The last of several values would win silently, so a network or scope that was given first would be missing. Applies to the
 * command and all below it, but not to the options that are made to be repeated.
 */
export function refuseRepeatedOptions(command: Command, repeatable: readonly string[]): void {
  for (const option of command.options) {
    const { long } = option
    if (option.isBoolean() || (long && repeatable.includes(long))) continue
    let isGiven = false
    command.on(`option:${option.name()}`, () => {
      if (isGiven) command.error(`error: option '${option.flags}' is given twice; give it once`)
      isGiven = true
    })
  }
  for (const child of command.commands) refuseRepeatedOptions(child, repeatable)
}

export const parseWhole =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }

export function parseUrl(text: string): string {
  if (isWebAddress(text)) return text
  throw new InvalidArgumentError(`It must be an ${webAddressForm}.`)
}

/** A date, a date with time, or how long ago. */
export function parseTime(text: string): Date {
  const now = Date.now()
  const later = addDuration(now, text)
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text
  const instant = later === undefined ? parseBound(day) : now - (later - now)
  if (instant === undefined)
    throw new InvalidArgumentError(
      'It must be an ISO 8601 duration such as PT2H, a date, or a date with time.',
    )
  return new Date(instant)
}
