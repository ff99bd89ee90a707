/** Generators beside openapi-typescript: a program with their output compiles, and every operation is in it. */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { endpoints } from '#endpoints/index.ts'
import { projectRoot } from '#test/support/docs/docs.ts'
import { compileMisuse } from '#test/support/docs/misuse.ts'

const run = promisify(execFile)
const folder = join(projectRoot, 'test/generators')
const require = createRequire(join(folder, 'package.json'))
const description = join(projectRoot, 'docs/openapi.json')

test('@hey-api/openapi-ts: a program compiles, and `crad` does not', async () => {
  const program = require.resolve('@hey-api/openapi-ts/package.json').replace(/package\.json$/, 'bin/run.js')
  const options = ['--input', description, '--output', 'dist/sdk', '--silent']
  // The program starts a process of its own, which needs the same TypeScript.
  const env = { ...process.env, NODE_OPTIONS: `--import ${join(folder, 'typescript-5.mjs')}` }
  await run(process.execPath, [program, ...options], { cwd: folder, env })
  const { complaints, expected, missed } = await compileMisuse(join(folder, 'sdk'), 'misuse.ts')
  expect(complaints).toEqual([])
  expect(expected).toBe(2)
  expect(missed).toEqual([])
})

interface Folder {
  readonly item?: readonly Folder[]
}

interface Converted {
  readonly result: boolean
  readonly reason?: string
  readonly output?: readonly [{ readonly data: Folder }]
}

const countRequests = ({ item }: Folder): number =>
  item === undefined ? 1 : item.reduce((sum, each) => sum + countRequests(each), 0)

test('openapi-to-postmanv2: a collection with every operation', async () => {
  const { convert } = require('openapi-to-postmanv2') as {
    convert(input: object, options: object, done: (error: Error | null, converted: Converted) => void): void
  }
  const converted = await new Promise<Converted>((resolve, reject) => {
    convert({ type: 'file', data: description }, {}, (error, result) =>
      error ? reject(error) : resolve(result),
    )
  })
  expect(converted.reason ?? '').toBe('')
  expect(converted.result).toBe(true)
  const requests = countRequests(converted.output?.[0].data ?? {})
  expect(requests).toBe(endpoints.length)
})
