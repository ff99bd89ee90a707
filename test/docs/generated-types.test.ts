/** The types that openapi-typescript makes of the document: a merchant's program compiles, and common mistakes do not. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { eventTypeNames } from '#domain/event-types.ts'
import { methodTypes } from '#methods/catalogue.ts'
import { projectRoot } from '#test/support/docs/docs.ts'
import { compileMisuse } from '#test/support/docs/misuse.ts'
import { buildDocument } from '../../tools/client-types.ts'

const run = promisify(execFile)
const folder = join(projectRoot, 'test/generators')

test('openapi-typescript and openapi-fetch: every shape, an intent, every event; never `crad`', async () => {
  const program = join(folder, 'node_modules/openapi-typescript/bin/cli.js')
  await run(process.execPath, [program, '../../docs/openapi.json', '--output', 'dist/schema.d.ts'], {
    cwd: folder,
  })
  const { complaints, expected, missed } = await compileMisuse(folder, 'programs/misuse.ts')
  expect(complaints).toEqual([])
  expect(expected).toBeGreaterThan(8)
  expect(missed).toEqual([])
})

interface Union {
  readonly oneOf?: readonly { readonly $ref: string }[]
  readonly discriminator?: { readonly propertyName: string; readonly mapping: Record<string, string> }
}

describe('unions of the document', () => {
  const schemas = buildDocument('http://127.0.0.1:8080/api/v2').components.schemas as unknown as Record<
    string,
    Union & { readonly enum?: readonly string[] }
  >

  test.each([
    ['CreatePaymentMethods', methodTypes],
    ['ConfirmPaymentIntent', methodTypes],
    ['RecordPaymentMethods', methodTypes],
    ['WebhookEvent', eventTypeNames],
  ])('%s is told apart by type, and every type leads to one of its shapes', (name, types) => {
    const { oneOf = [], discriminator } = schemas[name] ?? {}
    expect(discriminator?.propertyName).toBe('type')
    expect(Object.keys(discriminator?.mapping ?? {}).sort()).toEqual([...types].sort())
    const shapes = new Set(oneOf.map(({ $ref }) => $ref))
    expect(new Set(Object.values(discriminator?.mapping ?? {}))).toEqual(shapes)
  })

  test('PaymentMethodType lists the whole catalogue', () => {
    expect([...(schemas.PaymentMethodType?.enum ?? [])].sort()).toEqual([...methodTypes].sort())
  })
})
