/**
 * Compiles the schemas of the endpoint table once. Values are validated as they were sent: no coercion, no defaults, no
 * removal. A fast validator decides; only for a refusal a thorough one collects every error.
 */

import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { isRecord } from '#domain/json.ts'
import type { FieldError } from '#http/answers/refusal.ts'
import { explainErrors } from '#http/body/explain.ts'
import type { Formats, SchemaBook } from '#http/body/schema-words.ts'
import { annotationKeywords } from '#schemas/parts/fields.ts'

/** Returns the errors; none means that the value is accepted. `length` is that of the value's text. */
export type Check = (value: unknown, length: number) => readonly FieldError[]

export interface Validation {
  /** The check is compiled when it is first used, or by `warmUp` where it is `frequent`. */
  compile(schema: TSchema, wholeName: string, options?: { readonly frequent: boolean }): Check
  /**
   * Compiles the schemas of frequent checks that no request has used yet, one at a time, so that requests are not held
   * up for long. The other schemas are compiled by their first request, because compiling all of them takes as long as
   * the rest of a start. Begins after a pause, because a server that has just started has more urgent work.
   */
  warmUp(): void
}

/**
 * 64 KiB, enough for a long order. With a longer hostile body the thorough validator might collect an error for every
 * few bytes, so only the fast one's first error is reported.
 */
const thoroughLengthMax = 65_536

/** Our own keywords for documentation, which the validator ignores. */
const silentKeywords = [...annotationKeywords, 'example', 'externalDocs', 'discriminator', 'xml']

/** 3 s: the start, the recovery of dead processes' work and the first requests come first. */
const warmUpPauseMs = 3_000

const accepted: readonly FieldError[] = []

/**
 * What a compiled check reports: `verdict` only whether the value is accepted, `firstError` and `allErrors` also the
 * errors. Most endpoints need only the verdict, whose code is the shortest.
 */
type ReportLevel = 'verdict' | 'firstError' | 'allErrors'

function createAjv(options: {
  reportLevel: ReportLevel
  formats: Formats
  schemas: readonly TSchema[]
}): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: options.reportLevel === 'allErrors',
    verbose: options.reportLevel !== 'verdict',
    messages: options.reportLevel !== 'verdict',
    // The optimiser takes half of the compile time and does not make the code faster.
    code: { optimize: false },
    strict: true,
    // Conditions refer to members that are declared elsewhere in the schema, which these two checks would report as
    // mistakes.
    strictRequired: false,
    strictTypes: false,
    coerceTypes: false,
    useDefaults: false,
    removeAdditional: false,
    // Only the first compiler validates the schemas themselves.
    validateSchema: options.reportLevel === 'verdict',
    logger: false,
  })
  ajv.addVocabulary(silentKeywords)
  for (const [name, format] of Object.entries(options.formats)) ajv.addFormat(name, format.check)
  for (const schema of options.schemas) ajv.addSchema(schema)
  return ajv
}

interface Compiler {
  readonly schemas: readonly TSchema[]
  compile(schema: TSchema): ValidateFunction
}

function createCompiler(options: Parameters<typeof createAjv>[0]): Compiler {
  const ajv = createAjv(options)
  const compiled = new WeakMap<TSchema, ValidateFunction>()
  return {
    schemas: options.schemas,
    compile(schema) {
      const known = compiled.get(schema)
      if (known) return known
      const made: ValidateFunction = ajv.compile(schema)
      compiled.set(schema, made)
      return made
    },
  }
}

/** Compiled checks are shared by all servers of this process, because tests start hundreds of them. */
const compilers: Readonly<Record<ReportLevel, WeakMap<Formats, Compiler>>> = {
  verdict: new WeakMap(),
  firstError: new WeakMap(),
  allErrors: new WeakMap(),
}

function compilerFor(reportLevel: ReportLevel, formats: Formats, schemas: readonly TSchema[]): Compiler {
  const known = compilers[reportLevel].get(formats)
  if (known?.schemas === schemas) return known
  const created = createCompiler({ reportLevel, formats, schemas })
  compilers[reportLevel].set(formats, created)
  return created
}

const noSchemas: readonly TSchema[] = []

export function createValidation(options: { formats: Formats; schemas?: readonly TSchema[] }): Validation {
  const { formats, schemas = noSchemas } = options
  const compilerOf = (reportLevel: ReportLevel): Compiler => compilerFor(reportLevel, formats, schemas)
  const book: SchemaBook = {
    formats,
    byId: new Map(
      schemas
        .filter(isRecord)
        .flatMap(schema => (typeof schema.$id === 'string' ? [[schema.$id, schema] as const] : [])),
    ),
  }
  const waiting: (() => void)[] = []
  const compileNext = (): void => {
    const next = waiting.shift()
    if (next === undefined) return
    next()
    setImmediate(compileNext)
  }
  return {
    warmUp: () => void setTimeout(compileNext, warmUpPauseMs).unref(),
    compile(schema, wholeName, { frequent } = { frequent: false }) {
      // A long schema takes tens of milliseconds; all of them together would be most of a start.
      let verdict: ValidateFunction | undefined
      const compileVerdict = (): ValidateFunction => {
        verdict ??= compilerOf('verdict').compile(schema)
        return verdict
      }
      if (frequent) waiting.push(compileVerdict)
      return (value, length) => {
        const accepts = verdict ?? compileVerdict()
        if (accepts(value)) return accepted
        const explain = compilerOf(length <= thoroughLengthMax ? 'allErrors' : 'firstError').compile(schema)
        explain(value)
        return explainErrors(explain.errors ?? [], {
          schema: isRecord(schema) ? schema : {},
          value,
          wholeName,
          book,
        })
      }
    },
  }
}
