/**
 * Runs our TypeScript without its types. Node strips them by itself, but not below node_modules, and what does the work then
 * stays in memory for as long as the process lives (16 MB, measured). So every file is stripped once, in a process of its
 * own, and read without its types from then on. Only files of this package are touched. Preloaded by bin/tollgate.js; run
 * directly (`node bin/strip-types.js`), it strips all files ahead of time, for images whose file system is read-only.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { root } from './pinned-node.js'

const source = join(root, 'src')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Beside the code and not in a folder open to all, because what is read from there is run. */
const cache = join(root, 'node_modules', '.cache', 'tollgate', `stripped-${version}-${process.version}`)

/** Tells that all files were stripped once. One that was changed since is stripped again when it is read. */
const mark = join(cache, 'complete')

/** @param {string} path a file of TypeScript; @returns {string} the same without types, on the same lines */
function readStripped(path) {
  const typed = readFileSync(path, 'utf8')
  const kept = join(cache, createHash('sha256').update(typed).digest('hex'))
  if (existsSync(kept)) return readFileSync(kept, 'utf8')
  const stripped = stripTypeScriptTypes(typed)
  keep(kept, stripped)
  return stripped
}

/**
 * If we may not write, only memory is lost. Another process may do the same at this moment, so the file gets its name
 * last.
 */
function keep(path, text) {
  const draft = `${path}.${process.pid}`
  try {
    writeFileSync(draft, text)
    renameSync(draft, path)
  } catch (error) {
    if (!['EACCES', 'EROFS', 'ENOENT', 'EPERM', 'ENOSPC', 'EDQUOT'].includes(error.code)) throw error
  }
}

function stripAll() {
  mkdirSync(cache, { recursive: true })
  for (const name of readdirSync(source, { recursive: true })) {
    if (name.endsWith('.ts') && !/\.test(-support)?\.ts$/.test(name)) readStripped(join(source, name))
  }
  keep(mark, '')
}

const own = `${pathToFileURL(root).href}/src/`

/** Before anything of src/ is imported. */
export function readWithoutTypes() {
  // It ends with a message on standard error if it may not write; this process then strips the files itself.
  if (!existsSync(mark)) spawnSync(process.execPath, [fileURLToPath(import.meta.url)], { stdio: 'ignore' })
  registerHooks({
    // Our own names are files of src/. Node would look for the package that each importing file belongs to.
    resolve(specifier, context, next) {
      if (!specifier.startsWith('#') || !context.parentURL?.startsWith(own)) return next(specifier, context)
      return { url: own + specifier.slice(1), format: 'module', shortCircuit: true }
    },
    load(url, context, next) {
      if (!url.startsWith(own) || !url.endsWith('.ts')) return next(url, context)
      return { format: 'module', source: readStripped(fileURLToPath(url)), shortCircuit: true }
    },
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) stripAll()
