/** Gives generators that print with the API of TypeScript 5 that version, whichever one stands beside them. */
import { createRequire, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

const typescript = pathToFileURL(createRequire(import.meta.url).resolve('typescript')).href

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'typescript' ? { url: typescript, shortCircuit: true } : next(specifier, context),
})
