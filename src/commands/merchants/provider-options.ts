/**
 * Parsers for the options of `provider` and `route`: `key=value` pairs, secrets from files or standard input, lists.
 */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { InvalidArgumentError } from 'commander'
import { CommandFault, UsageFault } from '#commands/faults.ts'

export type Pairs = Readonly<Record<string, string>>

/** Collects `--set a=1 --set b=2`. A name given twice is an error; the last one does not win silently. */
export function collectPair(word: string, known: Pairs = {}): Pairs {
  const [, name = '', value = ''] = /^([A-Za-z][\w.-]*)=([\s\S]*)$/.exec(word) ?? []
  if (name === '') throw new InvalidArgumentError('It must look like name=value.')
  if (Object.hasOwn(known, name)) throw new InvalidArgumentError(`${name} is given twice.`)
  return { ...known, [name]: value }
}

/** The options whose value is a pair; further pairs may follow the first one without the option. */
export const pairOptions = ['--set', '--secret']

/** `--set a=1 b=2` as `--set a=1 --set b=2`. An option with any number of values would take an id that follows, too. */
export function repeatPairOptions(words: readonly string[]): readonly string[] {
  const repeated: string[] = []
  let option: string | undefined
  let pairs = 0
  for (const word of words) {
    const isPair = /^[A-Za-z][\w.-]*=/.test(word)
    if (isPair && option !== undefined && pairs > 0) repeated.push(option)
    repeated.push(word)
    if (isPair) pairs += 1
    else {
      option = pairOptions.find(name => word === name || word.startsWith(`${name}=`))
      pairs = word === option ? 0 : 1
    }
  }
  return repeated
}

/**
 * Secrets are never given on the command line, where every user of the machine and the shell's history could read them:
 * `name=@FILE` reads a file, `name=-` standard input.
 */
export async function readSecrets(pairs: Pairs = {}): Promise<Pairs> {
  const fromInput = Object.entries(pairs).filter(([, source]) => source === '-')
  if (fromInput.length > 1)
    throw new UsageFault('only one secret can come from standard input; give the others as name=@FILE')
  const entries: [string, string][] = []
  for (const [name, source] of Object.entries(pairs)) entries.push([name, await readSecret(name, source)])
  return Object.fromEntries(entries)
}

async function readSecret(name: string, source: string): Promise<string> {
  if (source === '-') return (await text(process.stdin)).trim()
  if (!source.startsWith('@') || source === '@')
    throw new UsageFault(
      `the secret ${name} must come from a file (--secret ${name}=@FILE) or from standard input ` +
        `(--secret ${name}=-), never from the command line, where others can read it`,
    )
  try {
    return (await readFile(source.slice(1), 'utf8')).trim()
  } catch (error) {
    throw new CommandFault(`the file ${source.slice(1)} of the secret ${name} cannot be read`, {
      cause: error,
    })
  }
}

/** Comma lists; each word is checked by `read`, which returns the stored spelling or undefined. */
export const parseList =
  (what: string, read: (word: string) => string | undefined) =>
  (list: string): readonly string[] => {
    const words = list
      .split(',')
      .map(word => word.trim())
      .filter(word => word !== '')
    if (words.length === 0) throw new InvalidArgumentError(`It must name at least one ${what}.`)
    return words.map(word => {
      const found = read(word)
      if (found === undefined) throw new InvalidArgumentError(`"${word}" is not a ${what}.`)
      return found
    })
  }
