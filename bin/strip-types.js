/**
 * Lets our TypeScript run where npm has installed it: Node strips types by itself, but not below node_modules. Only files of
 * this package are touched. Preloaded by bin/tollgate.js.
 */
import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { root } from './pinned-node.js'

const own = `${pathToFileURL(root).href}/src/`

if (own.includes('/node_modules/')) {
  registerHooks({
    load(url, context, next) {
      if (!url.startsWith(own) || !url.endsWith('.ts')) return next(url, context)
      const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'))
      return { format: 'module', source, shortCircuit: true }
    },
  })
}
