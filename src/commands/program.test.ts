/** All commands looked over at once: what they have in common, and what a shell is told of them. */
import { execFileSync } from 'node:child_process'
import type { Command } from 'commander'
import { expect, test, vi } from 'vitest'
import { renderCompletion } from '#commands/developer/completion.ts'
import { buildProgram, runProgram } from '#commands/program.ts'

const program = buildProgram(() => {
  throw new Error('nothing here reads the settings')
})

const leavesOf = (command: Command, path: string): readonly (readonly [string, Command])[] =>
  command.commands.length === 0
    ? [[path, command]]
    : command.commands.flatMap(child => leavesOf(child, `${path} ${child.name()}`.trim()))

const leaves = leavesOf(program, '')

/** They run until they are stopped, or their output has another form by nature: CSV, a script. */
const withoutJson = ['serve', 'operations export', 'completion']

test.each(leaves.filter(([path]) => !withoutJson.includes(path)))('%s takes --json', (_, command) => {
  expect(command.options.map(({ long }) => long)).toContain('--json')
})

test.each(leaves)('%s says what it does', (_, command) => {
  expect(command.description()).toMatch(/\.$/)
})

/** Of the last one alone a key would have another scope, or be refused from the office, without a word. */
test.each([
  ['key create mer_1 --name x --scopes read --scopes refunds', '--scopes <scopes>'],
  ['key create mer_1 --name x --allow-from 10.0.0.0/8 --allow-from=192.0.2.1', '--allow-from <networks>'],
  ['payments find --amount 10 --amount 20', '--amount <value>'],
])('an option given twice is refused: %s', async (line, flags) => {
  const unread = () => {
    throw new Error('the command has begun')
  }
  await expect(runProgram(line.split(' '), unread)).rejects.toThrow(
    `option '${flags}' is given twice; give it once`,
  )
})

test('pairs may be repeated', async () => {
  const line =
    'provider add mer_1 --connector adyen --name a --set merchantAccount=x --set multipleCaptures=true'
  const reached = () => {
    throw new Error('the command has begun')
  }
  await expect(runProgram(line.split(' '), reached)).rejects.toThrow('the command has begun')
})

test.each([
  ['help bank batch', 'Usage: tollgate bank batch '],
  ['help bank', 'Usage: tollgate bank '],
  ['bank help batch', 'Usage: tollgate bank batch '],
  ['help doctor', 'Usage: tollgate doctor '],
])('%s shows the help of that command', async (line, usage) => {
  const shown = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const noSettings = () => {
    throw new Error('the command has begun')
  }
  try {
    await expect(runProgram(line.split(' '), noSettings)).rejects.toMatchObject({ exitCode: 0 })
    expect(String(shown.mock.calls[0]?.[0])).toMatch(new RegExp(`^${usage}`))
  } finally {
    shown.mockRestore()
  }
})

test.each(['help nothing', 'help bank nothing', 'help doctor nothing'])(
  '%s names what is unknown',
  async line => {
    const noSettings = () => {
      throw new Error('the command has begun')
    }
    await expect(runProgram(line.split(' '), noSettings)).rejects.toThrow(
      `unknown command '${line.slice('help '.length)}'`,
    )
  },
)

const completeInBash = (line: string): readonly string[] => {
  const words = line.split(' ')
  const script = `${renderCompletion(program, 'bash')}
COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _tollgate; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' }).trim().split('\n')
}

test.each([
  ['tollgate pay', ['payments']],
  ['tollgate payments c', ['create', 'capture']],
  ['tollgate payments refund 01a1 --am', ['--amount']],
  ['tollgate --ver', ['--version']],
  ['tollgate operator add --email a@b.c --r', ['--role']],
  ['tollgate nothing-of-ours x', ['']],
])('bash completes %j', (line, expected) => {
  expect(completeInBash(line)).toEqual(expected)
})

test('the script for zsh knows the same commands', () => {
  const script = renderCompletion(program, 'zsh')
  expect(script).toMatch(/^#compdef tollgate\n/)
  for (const [path] of leaves) expect(script).toContain(`"tollgate ${path}") choices=`)
})

test.each(['bash', 'zsh'] as const)(
  'the script for %s assigns no variable that a shell has for itself',
  shell => {
    // zsh ties path to PATH, fpath and cdpath likewise, and keeps the words of the line in words.
    expect(renderCompletion(program, shell)).not.toMatch(/\b(?:path|fpath|cdpath|words|status|argv|CURRENT)=/)
  },
)
