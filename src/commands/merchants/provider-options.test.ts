import { expect, test } from 'vitest'
import { repeatPairOptions } from '#commands/merchants/provider-options.ts'

test.each([
  ['--set a=1 b=2 --secret k=@f l=@g', '--set a=1 --set b=2 --secret k=@f --secret l=@g'],
  ['provider set acc_1 --set a=1 b.c=2 --json', 'provider set acc_1 --set a=1 --set b.c=2 --json'],
  ['--set=a=1 b=2', '--set=a=1 --set b=2'],
  ['--set a=1 acc_1', '--set a=1 acc_1'],
  ['--set a=1 acc_1 b=2', '--set a=1 acc_1 b=2'],
  ['--set nothing a=1', '--set nothing a=1'],
  ['--metadata a=1 b=2', '--metadata a=1 b=2'],
])('the pairs of %s', (words, repeated) => {
  expect(repeatPairOptions(words.split(' ')).join(' ')).toBe(repeated)
})
