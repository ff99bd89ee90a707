/**
 * The published description: up to date, accepted by the linter, and its examples true to its own schemas.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { isRecord } from '#domain/json.ts'
import { webhooks } from '#endpoints/events/webhook-examples.ts'
import { endpoints } from '#endpoints/index.ts'
import { describedAs } from '#endpoints/method-union.ts'
import { about } from '#http/reference/document.ts'
import { buildOpenApi } from '#http/reference/openapi.ts'
import { listOperations } from '#http/reference/operation.ts'
import { compiledPlainly } from '#test/support/docs/check-schema.ts'
import { generatedFiles, projectRoot } from '../../tools/generate.ts'

const run = promisify(execFile)

describe('generated files', () => {
  test.each(generatedFiles)('$file is up to date', async ({ file, render }) => {
    const checkedIn = await readFile(join(projectRoot, file), 'utf8').catch(() => '')
    expect(checkedIn === render(), `${file} is out of date: run npm run generate`).toBe(true)
  })
})

test('Redocly finds nothing to complain about', async () => {
  const cli = join(projectRoot, 'node_modules/@redocly/cli/bin/cli.js')
  const argv = [cli, 'lint', 'docs/openapi.json', '--config', 'redocly.yaml', '--format', 'json']
  // The linter must not speak to anybody: neither to count us nor to look for a newer one.
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const { stdout } = await run(process.execPath, argv, { cwd: projectRoot, env }).catch(
    (error: { stdout: string; stderr: string }) => {
      if (error.stdout.startsWith('{')) return error
      throw error
    },
  )
  const report = JSON.parse(stdout) as {
    problems: { ruleId: string; message: string; location: unknown[] }[]
  }
  expect(report.problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
})

const document = buildOpenApi({
  ...about,
  endpoints,
  webhooks,
  describedAs,
  baseUrl: 'http://127.0.0.1:8080/api/v2',
})
const operations = listOperations(document).map(listed => ({ ...listed, id: listed.operation.operationId }))

test('operationIds are unique', () => {
  const ids = operations.map(({ id }) => id)
  expect(ids).toEqual([...new Set(ids)])
})

test.each(operations)('$id has an example that succeeds', ({ operation }) => {
  expect(operation['x-examples'].some(({ status }) => status < 300)).toBe(true)
})

const toPointer = (step: string): string =>
  encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))

interface BodyExample {
  readonly title: string
  /** Where its schema is in the document, as a JSON pointer. */
  readonly place: string
  readonly value: unknown
}

/** Wherever the document has a schema with examples beside it: requests, answers and events. */
function listExamples(node: unknown, steps: readonly string[] = []): readonly BodyExample[] {
  if (!isRecord(node)) return []
  const { schema, examples } = node
  if (schema === undefined || !isRecord(examples))
    return Object.entries(node).flatMap(([step, below]) => listExamples(below, [...steps, step]))
  return Object.entries(examples).map(([name, example]) => ({
    title: `${steps.join(' ')}: ${name}`,
    place: [...steps, 'schema'].map(toPointer).join('/'),
    value: isRecord(example) ? example.value : undefined,
  }))
}

const bodyExamples = listExamples(document)

test('examples are found in requests, answers and events', () => {
  const beginnings = new Set(bodyExamples.map(({ place }) => place.split('/')[0]))
  expect([...beginnings]).toEqual(['paths', 'webhooks'])
})

describe('examples fit their schemas', () => {
  // The document as a whole is no JSON schema, hence not strict; formats of our own are tested with the
  // validation.
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    allErrors: true,
    ...compiledPlainly,
  })
  ajv.addSchema(document, 'openapi.json')

  test.each(bodyExamples)('$title', ({ place, value }) => {
    const validate = ajv.compile({ $ref: `openapi.json#/${place}` })
    validate(value)
    expect(validate.errors ?? []).toEqual([])
  })
})
