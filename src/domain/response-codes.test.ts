import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  adviceMeanings,
  cancelledCode,
  declineCode,
  describe,
  detailCode,
  listModules,
  listProviderCodes,
  listResponseCodes,
  moduleOf,
  providerText,
  refusalCodes,
  type Speaker,
  timedOutCode,
  unreachedCode,
} from '#domain/response-codes.ts'

test.each<[Speaker, string]>([
  ['card', '100'],
  ['direct_debit', '300'],
  ['bank_redirect', '300'],
  ['bank_transfer', '300'],
  ['open_banking', '300'],
  ['wallet', '400'],
  ['mobile', '400'],
  ['qr', '400'],
  ['crypto', '400'],
  ['prepaid', '400'],
  ['gift_card', '400'],
  ['carrier_billing', '400'],
  ['bnpl', '500'],
  ['instalment', '500'],
  ['invoice', '500'],
  ['voucher', '500'],
  ['cash_on_delivery', '500'],
  ['vault', '600'],
  ['plans', '700'],
  ['services', '800'],
  ['none', '900'],
])('the module of %s is %s', (speaker, module) => expect(moduleOf(speaker)).toBe(module))

test.each([
  [declineCode('card', '05'), '21000305'],
  [declineCode('direct_debit', '51'), '23000351'],
  [detailCode('card', '0305'), '21000305'],
  [detailCode('wallet', '1234'), '24001234'],
  [timedOutCode('none'), '29000402'],
  [cancelledCode('bnpl'), '25000703'],
  [unreachedCode('card'), '21000391'],
])('%s is %s', (made, code) => expect(made).toBe(code))

test.each([
  ['00000000', 'Success.', 'nothing to do'],
  ['20200003', 'The amount is above what is open.', 'correct the request'],
  ['21000305', 'Declined: Do not honour.', 'other card'],
  ['23000305', 'Declined: Do not honour.', 'other method'],
  ['21000351', 'Declined: Insufficient funds.', 'retry'],
  ['21000341', 'Declined: Lost card.', 'stop'],
  ['21000391', 'Declined: Issuer or acquirer cannot be reached.', 'retry'],
  ['24000402', 'Timed out or expired.', 'retry'],
  ['29000703', 'Cancelled by the customer.', 'stop'],
  ['21000399', 'Declined.', 'stop'],
  ['21009999', 'Declined.', 'stop'],
  ['29991234', 'Unknown response code.', 'stop'],
  ['31000305', 'Unknown response code.', 'stop'],
  ['constructor', 'Unknown response code.', 'stop'],
  ['', 'Unknown response code.', 'stop'],
])('%j means %j, advice %j', (code, description, advice) => {
  expect(describe(code)).toEqual({ code, description, advice })
})

test('any text has a description, even one that is not a code', () => {
  fc.assert(fc.property(fc.string(), code => describe(code).code === code))
})

test('every refusal has a code of its own with a text of its own', () => {
  const codes = Object.values(refusalCodes)
  expect(new Set(codes).size).toBe(codes.length)
  for (const code of codes) expect(describe(code).description).not.toMatch(/^(Unknown|Declined)/)
})

test('the published list has every code once, eight digits each', () => {
  const codes = listResponseCodes().map(entry => entry.code)
  expect(new Set(codes).size).toBe(codes.length)
  for (const code of codes) expect(code).toMatch(/^[0-9]{8}$/)
  expect(codes).toEqual(expect.arrayContaining(['21000305', '23000354', '24000402', '25000703', '29000396']))
})

test.each([
  '02',
  '04',
  '05',
  '12',
  '13',
  '14',
  '33',
  '34',
  '41',
  '43',
  '51',
  '54',
  '57',
  '61',
  '62',
  '65',
  '91',
  '96',
])('provider code %s has a text', nn => expect(providerText(nn)).not.toBe('Declined'))

test('a provider code outside the list has the general text', () => {
  expect(providerText('77')).toBe('Declined')
  expect(providerText('toString')).toBe('Declined')
})

/** The codes of the API contract, listed a second time by hand. */
const contractCodes = [
  ...['00000000', '60000100', '60000200', '70000200', '20170001', '20170002', '20180001', '20200001'],
  ...['20200002', '20200003', '20200004', '20200005', '20200006', '20200007', '20200008', '20200009'],
  ...['20200010', '20200011', '20200012', '20200013', '27000001', '27000002', '27000003', '28000001'],
  ...['28001550', '28001551', '28001552', '40000001', '40000405'],
]
const contractModules = ['100', '300', '400', '500', '600', '700', '800', '900']
const contractDeclines = '02 04 05 12 13 14 33 34 41 43 51 54 57 61 62 65 91 96'.split(' ')

test('the published list has every code of the API contract, and every decline of every module', () => {
  expect(listModules().map(({ module }) => module)).toEqual(contractModules)
  expect(listProviderCodes()).toEqual(contractDeclines)
  const patterned = contractModules.flatMap(module => [
    ...contractDeclines.map(nn => `2${module}03${nn}`),
    `2${module}0402`,
    `2${module}0703`,
  ])
  const codes = listResponseCodes().map(({ code }) => code)
  expect(codes).toEqual(expect.arrayContaining([...contractCodes, ...patterned]))
})

test('every code has a text that ends as a sentence, and advice that is explained', () => {
  for (const { code, description, advice } of listResponseCodes()) {
    expect(description, code).toMatch(/^[A-Z].*\.$/)
    expect(adviceMeanings[advice], code).toMatch(/\.$/)
  }
})

test('only card payments advise the customer to use another card', () => {
  const told = listResponseCodes().filter(({ advice }) => advice === 'other card')
  expect(told.length).toBeGreaterThan(0)
  expect(told.filter(({ code }) => !code.startsWith('2100'))).toEqual([])
})
