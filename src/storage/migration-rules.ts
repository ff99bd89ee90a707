/**
 * Rules for migrations that run while the previous release still serves: they may add, never remove. Judged by the SQL
 * text, for the test that guards the files and for `migrate --check`. Pure.
 */

/** The statements of a file, each on one line, for rules that look at their form. */
const splitStatements = (sql: string): readonly string[] =>
  readStatements(sql).map(statement => statement.replace(/\s+/g, ' '))

/** The statements of a file without the comments between them; function bodies stay whole. */
export function readStatements(sql: string): readonly string[] {
  const statements: string[] = []
  let current = ''
  // Quoted names and strings, dollar-quoted bodies and comments match as one piece; everything else letter by letter.
  for (const [piece] of sql.matchAll(
    /--[^\n]*|\/\*[\s\S]*?\*\/|\$\$[\s\S]*?\$\$|'(?:[^']|'')*'|"[^"]*"|[\s\S]/g,
  )) {
    if (piece.startsWith('--') || piece.startsWith('/*')) continue
    if (piece !== ';') current += piece
    else {
      statements.push(current.trim())
      current = ''
    }
  }
  return [...statements, current.trim()].filter(statement => statement !== '')
}

/** The forbidden statements, and the harm each would do to a process of the previous release. */
const forbidden: readonly (readonly [form: RegExp, harm: string])[] = [
  [/^ALTER TABLE .* DROP COLUMN/i, 'drops a column that the previous release still writes'],
  [/^ALTER TABLE .* RENAME/i, 'renames what the previous release still uses'],
  [/^ALTER TABLE .* ALTER (COLUMN )?\S+ (SET DATA )?TYPE/i, 'rewrites the table under an exclusive lock'],
  [/^ALTER TABLE .* ALTER (COLUMN )?\S+ SET NOT NULL/i, 'forbids rows that the previous release writes'],
  [
    /^ALTER TABLE .* ADD COLUMN (?!.*\bDEFAULT\b).*\bNOT NULL/i,
    'needs a value that the previous release does not give',
  ],
  [/^(DROP TABLE|TRUNCATE)/i, 'takes a table away from the previous release'],
]

const unnamedConstraint =
  /(?<!CONSTRAINT "?[\w]{1,63}"? )\b(CHECK \(|PRIMARY KEY|FOREIGN KEY|UNIQUE \(|REFERENCES \w+ ?\()/i

/** Describes everything in the file that would harm a process of the previous release; empty if it is safe. */
export function findUnsafe(sql: string): readonly string[] {
  return splitStatements(sql).flatMap(statement => {
    const shown = statement.length > 80 ? `${statement.slice(0, 80)}…` : statement
    const harms = forbidden.filter(([form]) => form.test(statement)).map(([, harm]) => harm)
    if (/^ALTER TABLE/i.test(statement) && countSubcommands(statement) > 1)
      harms.push('holds several subcommands; write one per ALTER TABLE')
    if (/^(ALTER|CREATE) TABLE/i.test(statement) && hasUnnamedConstraint(statement))
      harms.push('holds a constraint without a name')
    return harms.map(harm => `${shown}: ${harm}`)
  })
}

/**
 * Describes the tables that cannot be written to while the file runs. An index on a table that the file itself creates
 * is built at once; one on a table with millions of rows takes minutes.
 */
export function findWaits(sql: string): readonly string[] {
  const statements = splitStatements(sql)
  const made = new Set(
    statements.map(statement => /^CREATE TABLE (?:IF NOT EXISTS )?(\w+)/i.exec(statement)?.[1]),
  )
  return statements.flatMap(statement => {
    const [, index, table] =
      /^CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)(?:IF NOT EXISTS )?(\w+) ON (\w+)/i.exec(statement) ?? []
    return table === undefined || made.has(table)
      ? []
      : [`writes to ${table} wait while the index ${index} is built; with many rows, choose a quiet hour`]
  })
}

/** Commas outside brackets and strings separate the subcommands. */
function countSubcommands(statement: string): number {
  let depth = 0
  let count = 1
  for (const [piece] of statement.matchAll(/'(?:[^']|'')*'|[\s\S]/g)) {
    if (piece === '(' || piece === '[') depth += 1
    else if (piece === ')' || piece === ']') depth -= 1
    else if (piece === ',' && depth === 0) count += 1
  }
  return count
}

function hasUnnamedConstraint(statement: string): boolean {
  const withoutTargets = statement.replace(/\bREFERENCES \w+ ?\([^)]*\)/gi, '')
  return unnamedConstraint.test(withoutTargets)
}
