#!/usr/bin/env node
/**
 * What `npm test` runs: types, lint, tests, in this order, until the first failure. Arguments go to Vitest,
 * so that `npm test -- test/api` runs part of the tests.
 */
import { spawnSync } from 'node:child_process'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { findNode, missingNode, root } from './pinned-node.js'

const steps = [
  ['types', 'typescript/bin/tsc', '--noEmit'],
  ['lint', '@biomejs/biome/bin/biome', 'ci', '.'],
  ['tests', 'vitest/vitest.mjs', 'run', ...process.argv.slice(2)],
]

const node = findNode()
if (node === undefined) {
  console.error(missingNode)
  process.exit(1)
}

// Tests start "node" too, and it must be the same.
const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` }

for (const [name, script, ...words] of steps) {
  console.log(`\n── ${name}`)
  const begun = performance.now()
  const { status, signal, error } = spawnSync(node, [join(root, 'node_modules', script), ...words], {
    cwd: root,
    env,
    stdio: 'inherit',
  })
  if (error !== undefined) throw error
  const passed = status === 0
  console.log(
    `── ${name} ${passed ? 'passed' : 'FAILED'} in ${((performance.now() - begun) / 1000).toFixed(1)} s`,
  )
  if (!passed) process.exit(status ?? 128 + constants.signals[signal])
}
