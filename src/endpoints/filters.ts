/** Reads the filters that lists share: comma lists, ranges of time and amount. Errors name the filter. */
import { parseBound } from '#domain/time/dates.ts'
import { InvalidField } from '#http/server/ports.ts'
import { ForeignCursor } from '#operations/finding/list-payments.ts'

type Readers = Readonly<Record<string, () => unknown>>

/** Reads all filters before it throws, so that one answer names every wrong one. */
export function readAll<Given extends Readers>(
  readers: Given,
): { readonly [Name in keyof Given]: ReturnType<Given[Name]> } {
  const wrong: InvalidField[] = []
  const read = Object.entries(readers).map(([name, reader]) => {
    try {
      return [name, reader()]
    } catch (error) {
      if (!(error instanceof InvalidField)) throw error
      wrong.push(error, ...error.also)
      return [name, undefined]
    }
  })
  const [first, ...others] = wrong
  if (first) throw new InvalidField(first.field, first.message, others)
  return Object.fromEntries(read)
}

/** The values of a comma list, each one of those allowed. Undefined if the filter is absent. */
export function readList<Value extends string>(
  field: string,
  text: string | undefined,
  allowed: { readonly has: (value: string) => value is Value; readonly named: string },
): readonly Value[] | undefined {
  if (text === undefined) return undefined
  const values = text.split(',').map(value => value.trim())
  const unknown = values.find(value => !allowed.has(value))
  if (unknown !== undefined)
    throw new InvalidField(field, `${field} holds "${unknown.slice(0, 40)}"; allowed: ${allowed.named}.`)
  return [...new Set(values.filter(allowed.has))]
}

export const oneOf = <Value extends string>(values: readonly Value[]) => ({
  has: (value: string): value is Value => values.some(known => known === value),
  named: values.join(', '),
})

export function readRange({ from, to }: { readonly from?: string; readonly to?: string }): {
  readonly from?: Date
  readonly to?: Date
} {
  const range = { from: toDate(from), to: toDate(to) }
  if (range.from && range.to && range.from.getTime() >= range.to.getTime())
    throw contradict(
      ['from', `from is ${from}; it must be earlier than to (${to}).`],
      ['to', `to is ${to}; it must be later than from (${from}).`],
    )
  return range
}

const dayMs = 24 * 60 * 60 * 1000

/** Days are those of UTC, both ends included. */
export function readDays({
  createdFrom,
  createdTo,
}: {
  readonly createdFrom?: string
  readonly createdTo?: string
}): { readonly createdFrom?: Date; readonly createdBefore?: Date } {
  // Days have a fixed format, so comparing the texts compares the days.
  if (createdFrom !== undefined && createdTo !== undefined && createdFrom > createdTo)
    throw contradict(
      ['createdFrom', `createdFrom is ${createdFrom}; it must not be later than createdTo (${createdTo}).`],
      ['createdTo', `createdTo is ${createdTo}; it must not be earlier than createdFrom (${createdFrom}).`],
    )
  return {
    createdFrom: createdFrom === undefined ? undefined : new Date(startOfDay(createdFrom)),
    createdBefore: createdTo === undefined ? undefined : new Date(startOfDay(createdTo) + dayMs),
  }
}

const startOfDay = (day: string): number => Date.parse(`${day}T00:00:00Z`)

/** The contract's int32. */
const lastPage = 2_147_483_647

export function readPage(page = '1'): number {
  const number = Number(page)
  if (number > lastPage) throw new InvalidField('page', `page is ${page}; it must be at most ${lastPage}.`)
  return number
}

type Fault = readonly [field: string, message: string]

/** Either of two filters may be the mistaken one, so both are named. */
export const contradict = ([field, message]: Fault, [otherField, otherMessage]: Fault): InvalidField =>
  new InvalidField(field, message, [new InvalidField(otherField, otherMessage)])

/** Errors in a query that the schema cannot express, for an endpoint's `findFaults`. */
export function collectFaults(read: () => unknown): readonly InvalidField[] {
  try {
    read()
    return []
  } catch (error) {
    if (error instanceof InvalidField) return [error, ...error.also]
    throw error
  }
}

function toDate(text: string | undefined): Date | undefined {
  const instant = text === undefined ? undefined : parseBound(text)
  return instant === undefined ? undefined : new Date(instant)
}

/** A cursor of another list or merchant is reported like any other wrong field. */
export function nameCursor(error: unknown): never {
  throw error instanceof ForeignCursor ? new InvalidField('cursor', `cursor ${error.message}.`) : error
}
