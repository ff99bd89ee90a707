/**
 * Request fields that only connectors read. All code between endpoint and connector stores them and passes them on
 * without knowing their names.
 */

export const hintFields = ['simulationMode'] as const

export type HintField = (typeof hintFields)[number]

export type Hints = { readonly [Field in HintField]?: string }

/** The hints among stored fields; undefined if there are none. */
export function hintsOf(fields: Readonly<Record<string, unknown>> | undefined): Hints | undefined {
  const given = hintFields.filter(field => typeof fields?.[field] === 'string')
  return given.length === 0
    ? undefined
    : Object.fromEntries(given.map(field => [field, String(fields?.[field])]))
}
