/**
 * What a migration may do while the previous release still serves: add, never remove. Read from the SQL text, for the
 * test that guards the files and for `migrate --check`. Pure.
 */

/** The statements of a file, each on one line, for rules that look at their form. */
const splitStatements = (sql: string): readonly string[] =>
  readStatements(sql).map(statement => statement.replace(/\s+/g, ' '))

/** The statements of a file as they are written, without comments between them; bodies of functions stay whole. */
export function readStatements(sql: string): readonly string[] {
  const statements: string[] = []
  let current = ''
  // Quoted names and texts, dollar-quoted bodies and comments each as one piece; all else letter by letter.
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

/** What each forbidden form would do to a process of the previous release. */
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

/** Sentences about everything in this file that would harm a process of the previous release; none when it is safe. */
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
 * Sentences about tables that nobody can write to while this file runs. An index of a table that the file makes itself is
 * built in no time, and one of a table with millions of rows in minutes.
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
