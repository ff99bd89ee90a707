import { describe, expect, test } from 'vitest'
import {
  createFaultBook,
  type FaultRule,
  type FaultStore,
  putBack,
  shareFaults,
} from '#connectors/simulator/faults.ts'
import type { MerchantId, XId } from '#domain/ids.ts'
import type { OperationType } from '#lifecycle/payment.ts'

const [mine, yours] = ['mer_1', 'mer_2'] as MerchantId[] as [MerchantId, MerchantId]
const rule = (operation: FaultRule['operation'], code: string, times = 1): FaultRule => ({
  operation,
  fault: 'decline',
  code,
  times,
})
const bookOf = (...rules: FaultRule[]) => {
  const book = createFaultBook()
  for (const each of rules) book.add(mine, each)
  return book
}

describe('choosing the fault for the next operation', () => {
  // Each line: the case, the rules, the operations, and the code that each of them gets.
  test.each<[string, FaultRule[], OperationType[], (string | undefined)[]]>([
    ['no rules', [], ['CAPTURE'], [undefined]],
    ['used once', [rule('CAPTURE', '05')], ['CAPTURE', 'CAPTURE'], ['05', undefined]],
    ['used twice', [rule('CAPTURE', '05', 2)], ['CAPTURE', 'CAPTURE', 'CAPTURE'], ['05', '05', undefined]],
    ['another operation', [rule('CAPTURE', '05')], ['REFUND', 'CAPTURE'], [undefined, '05']],
    ['any operation', [rule('*', '05', 2)], ['REFUND', 'CONFIRM', 'CREDIT'], ['05', '05', undefined]],
    [
      'several rules in order',
      [rule('CAPTURE', '05'), rule('CAPTURE', '51')],
      ['CAPTURE', 'CAPTURE'],
      ['05', '51'],
    ],
    [
      'a rule for any operation first',
      [rule('*', '05'), rule('CAPTURE', '51')],
      ['CAPTURE', 'CAPTURE'],
      ['05', '51'],
    ],
    ['the first matching rule', [rule('REFUND', '05'), rule('*', '51')], ['CAPTURE', 'REFUND'], ['51', '05']],
  ])('%s', (_, rules, operations, codes) => {
    const book = bookOf(...rules)
    expect(operations.map(operation => book.take(mine, operation)?.code)).toEqual(codes)
  })

  test('does not use the first matching rule if another kind is wanted', () => {
    const book = bookOf(rule('REFUND', '61'), rule('CAPTURE', '05'), rule('*', '51'))
    expect(book.take(mine, 'CAPTURE', 'lost_request')).toBeUndefined()
    expect(book.take(mine, 'CAPTURE', 'decline')?.code).toBe('05')
    expect(book.list(mine)).toHaveLength(2)
  })

  test('uses up the listed rules', () => {
    const book = bookOf(rule('CAPTURE', '05', 2), rule('REFUND', '51'))
    book.take(mine, 'CAPTURE')
    expect(book.list(mine)).toEqual([rule('CAPTURE', '05', 1), rule('REFUND', '51')])
    book.take(mine, 'CAPTURE')
    expect(book.list(mine)).toEqual([rule('REFUND', '51')])
  })
})

test('a merchant’s faults do not affect another merchant', () => {
  const book = bookOf(rule('*', '05'))
  expect(book.take(yours, 'CAPTURE')).toBeUndefined()
  expect(book.list(yours)).toEqual([])
  book.clear(yours)
  expect(book.list(mine)).toHaveLength(1)
  book.clear(mine)
  expect(book.take(mine, 'CAPTURE')).toBeUndefined()
})

describe('rules that several processes share', () => {
  /** A store with one merchant's rules in memory, which counts look-ups and can delay its answers. */
  function openStore(...given: FaultRule[]) {
    let rules: readonly FaultRule[] = given
    const seen = { lookUps: 0, beforeListed: async () => {} }
    const store: FaultStore = {
      async listMerchants() {
        const merchants = rules.length > 0 ? [mine] : []
        await seen.beforeListed()
        return merchants
      },
      read: async () => rules,
      async change(_, change) {
        seen.lookUps += 1
        const changed = change(rules)
        rules = changed.rules
        return changed.result
      },
    }
    return { store, seen }
  }
  const nobody = async () => {}
  const user = (reference: string) => ({ merchantId: mine, reference: reference as XId })

  test('a merchant whose rules are used up is no longer looked up', async () => {
    const { store, seen } = openStore(rule('CAPTURE', '05'))
    const faults = shareFaults(store, nobody)
    await faults.load()
    const codes: (string | undefined)[] = []
    for (let time = 0; time < 4; time += 1)
      codes.push((await faults.use(user('a'), book => book.take(mine, 'CAPTURE')))?.code)
    expect(codes).toEqual(['05', undefined, undefined, undefined])
    expect(seen.lookUps).toBe(2)
  })

  test('a list that was read before a new rule does not hide the rule', async () => {
    const { store, seen } = openStore()
    const faults = shareFaults(store, () => faults.load())
    let answer = () => {}
    seen.beforeListed = () => new Promise(resolve => (answer = resolve))
    const slow = faults.load()
    seen.beforeListed = nobody
    await faults.add(mine, rule('CAPTURE', '05'))
    answer()
    await slow
    expect(await faults.use(user('a'), book => book.take(mine, 'CAPTURE'))).toMatchObject({ code: '05' })
  })

  test('an operation gives back what it has used up, once, and every process learns of it', async () => {
    const { store } = openStore(rule('CAPTURE', '05'))
    let announced = 0
    const faults = shareFaults(store, async () => {
      announced += 1
      await faults.load()
    })
    await faults.load()
    const take = (reference: string) => faults.use(user(reference), book => book.take(mine, 'CAPTURE')?.code)
    expect(await take('a')).toBe('05')
    await faults.giveBack(user('b'))
    expect(await faults.list(mine)).toEqual([])
    await faults.giveBack(user('a'))
    await faults.giveBack(user('a'))
    expect(await faults.list(mine)).toEqual([rule('CAPTURE', '05')])
    expect(announced).toBe(1)
    expect(await take('c')).toBe('05')
  })
})

describe('putting uses back', () => {
  // Each line: the case, the rules, the operations that use them, and those that use them before they are put back.
  test.each<[string, FaultRule[], OperationType[], OperationType[], FaultRule[]]>([
    ['a rule that was used up', [rule('CAPTURE', '05')], ['CAPTURE'], [], [rule('CAPTURE', '05')]],
    ['several uses of one rule', [rule('*', '05', 3)], ['CAPTURE', 'REFUND'], [], [rule('*', '05', 3)]],
    [
      'each at its place',
      [rule('REFUND', '51'), rule('*', '05'), rule('*', '61')],
      ['CAPTURE', 'CAPTURE'],
      [],
      [rule('REFUND', '51'), rule('*', '05'), rule('*', '61')],
    ],
    [
      'a place that is gone',
      [rule('REFUND', '51'), rule('CAPTURE', '05')],
      ['CAPTURE'],
      ['REFUND'],
      [rule('CAPTURE', '05')],
    ],
  ])('%s', (_, rules, operations, others, left) => {
    const book = bookOf(...rules)
    for (const operation of operations) book.take(mine, operation)
    const taken = [...book.taken]
    for (const operation of others) book.take(mine, operation)
    expect(putBack(book.list(mine), taken)).toEqual(left)
  })
})
