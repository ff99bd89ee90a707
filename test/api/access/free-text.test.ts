/** No text field of a request, as listed by the schemas, may contain the request's own card number. */
import { expect, test } from 'vitest'
import { findStrayCardData } from '#domain/cards/stray-card-data.ts'
import { endpoints } from '#endpoints/index.ts'

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

type Step = string | 0

/** The ways to every text, such as ['customerInfo', 'phone', 'number']; 0 is the first item of a list. */
function findTexts(schema: Schema, way: readonly Step[] = []): readonly (readonly Step[])[] {
  const { properties = {}, items, anyOf = [], oneOf = [], allOf = [] } = schema
  return [
    ...(schema.type === 'string' ? [way] : []),
    ...Object.entries(properties).flatMap(([name, member]) => findTexts(member, [...way, name])),
    ...(items ? findTexts(items, [...way, 0]) : []),
    ...[...anyOf, ...oneOf, ...allOf].flatMap(part => findTexts(part, way)),
  ]
}

const put = (way: readonly Step[], text: string): unknown =>
  way.reduceRight<unknown>((inner, step) => (step === 0 ? [inner] : { [step]: inner }), text)

const spell = (way: readonly Step[]): string =>
  way.reduce<string>((path, step) => (step === 0 ? `${path}[0]` : path === '' ? step : `${path}.${step}`), '')

/** The fields for the number of a card or an account. */
const belongs = (way: readonly Step[]): boolean =>
  ['number', 'accountNumber'].includes(String(way.at(-1))) && !/phone$/i.test(String(way.at(-2)))

const number = '4111111111111111'
const served = endpoints.filter(
  ({ body, accepts = 'application/json' }) => body && accepts === 'application/json',
)

test.each(served.map(endpoint => [`${endpoint.verb} ${endpoint.path}`, endpoint.body as Schema] as const))(
  '%s finds its card number in every text field where it does not belong',
  (_, schema) => {
    const ways = findTexts(schema).filter(way => !belongs(way))
    const passed = ways.filter(way => {
      const body = { ...(put(way, 'no. 4111 1111-1111.1111') as object), paying: { number } }
      return findStrayCardData(body)?.field !== spell(way)
    })
    expect(passed.map(spell)).toEqual([])
  },
)

test('hundreds of text fields were found in the schemas', () => {
  expect(served.flatMap(({ body }) => findTexts(body as Schema)).length).toBeGreaterThan(300)
})
