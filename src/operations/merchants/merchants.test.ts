import { expect, test } from 'vitest'
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import { drawId } from '#operations/merchants/merchants.ts'

test.each([
  ['mer', 8, /^mer_[0-9a-f]{16}$/],
  ['acc', 12, /^acc_[0-9a-f]{24}$/],
] as const)(
  'no id of the form %s_… looks like a card number, so that the log names it',
  (prefix, bytes, form) => {
    // Without the check in drawId, some twenty of 10,000 ids would look like one.
    const ids = Array.from({ length: 10_000 }, () => drawId(prefix, bytes))
    expect(ids.filter(id => scrubCardNumbers(id) !== id || !form.test(id))).toEqual([])
  },
)
