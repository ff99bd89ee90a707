#!/usr/bin/env node
/** Runs a TypeScript file of this project in a Node that can: `node bin/pinned.js file.ts …`, whatever Node is at hand. */
import { spawn } from 'node:child_process'
import { findNode, missingNode } from './pinned-node.js'

const node = findNode()
if (node === undefined) {
  console.error(missingNode)
  process.exit(1)
}
const child = spawn(node, process.argv.slice(2), { stdio: 'inherit' })
process.on('SIGTERM', () => child.kill('SIGTERM'))
// Ctrl-C reaches the child by itself; we end when it has ended.
process.on('SIGINT', () => undefined)
child.once('exit', code => process.exit(code ?? 1))
