/**
 * Takes the packages' own Node ranges out of package-lock.json: `npm run lock`, after every `npm install`.
 * npm compares them with the Node that runs npm, but the packages run in Node 24 (see bin/pinned-node.js).
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

interface LockFile {
  readonly packages: Record<string, { engines?: unknown }>
}

const path = join(import.meta.dirname, '..', 'package-lock.json')
const lock: LockFile = JSON.parse(await readFile(path, 'utf8'))
for (const [folder, entry] of Object.entries(lock.packages)) {
  if (folder.startsWith('node_modules/')) delete entry.engines
}
await writeFile(path, `${JSON.stringify(lock, null, 2)}\n`)
