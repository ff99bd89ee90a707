#!/usr/bin/env -S node --max-semi-space-size=16 --v8-pool-size=1 --no-memory-reducer --heap-growing-percent=40
/**
 * The command `tollgate` for whatever Node is at hand: runs src/main.ts here, or in the Node that npm
 * installed when this one is too old. It decides nothing else.
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { findNode, isModernEnough, missingNode } from './pinned-node.js'

if (isModernEnough) await runHere()
else runInInstalledNode()

async function runHere() {
  // An older Node has started us (below), and whoever kills it means us: end as abruptly, instead of running unattended.
  // While we drained, the next start would find our port and data folder taken.
  if (process.channel !== undefined) {
    process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
    process.channel.unref()
  }
  const emitWarning = process.emitWarning
  process.emitWarning = (warning, ...rest) => {
    const type = typeof rest[0] === 'object' ? rest[0]?.type : rest[0]
    // Early releases of Node 24 call the running of TypeScript experimental. Every other warning passes.
    if (type === 'ExperimentalWarning' && /type stripping|stripTypeScriptTypes/i.test(String(warning))) return
    emitWarning.call(process, warning, ...rest)
  }
  const { readWithoutTypes } = await import('./strip-types.js')
  readWithoutTypes()
  await import('../src/main.ts')
}

function runInInstalledNode() {
  const node = findNode()
  if (node === undefined) {
    console.error(missingNode)
    process.exit(1)
  }
  const child = spawn(node, [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    // A process group of its own: Ctrl-C then reaches it once, through us, and not a second time from the
    // terminal.
    detached: process.platform !== 'win32',
  })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.once('error', error => {
    console.error(`Tollgate could not start ${node}: ${error.message}`)
    process.exit(1)
  })
  // As a shell reports it: 128 and the signal's number.
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}
