/** Plans that are collected by direct debit: sequence types, and returns that suspend a plan. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testIbans } from '#test/support/bank/debits.ts'
import { statement } from '#test/support/bank/files.ts'
import { type BankStage, openBankStage, textOf } from '#test/support/bank/stage.ts'
import type { CommandsHere } from '#test/support/command-here.ts'
import type { TestGateway } from '#test/support/gateway.ts'

let stage: BankStage
let gateway: TestGateway
let commands: CommandsHere
beforeAll(async () => {
  stage = await openBankStage()
  ;({ gateway, commands } = stage)
})
afterAll(() => stage.close())

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

async function beginPlan(name: string, expiryDate: string): Promise<{ payId: string; planId: string }> {
  const answer = await gateway.call('POST', '/payments', {
    transId: name,
    amount: { value: 1000, currency: 'EUR' },
    customerInfo: { merchantCustomerId: `customer ${name}`, email: 'ann@example.com' },
    credentialOnFile: {
      type: 'RECURRING',
      initialPayment: true,
      recurring: { frequency: 'MONTHLY', useCase: 'FIXED', autoCharge: true, expiryDate },
    },
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'DIRECTDEBIT',
      directDebit: {
        account: { number: testIbans.good, accountHolderName: 'Ann Müller' },
        mandateId: `M-${name}`,
        dateOfSignature: '01.11.2026',
      },
    },
  })
  expect(answer.body).toMatchObject({ status: 'CAPTURE_REQUEST' })
  return { payId: answer.body.payId, planId: answer.body.paymentPlanId }
}

const readPlan = async (planId: string) => (await gateway.call('GET', `/payment-plans/${planId}`)).body
const advance = (duration: string) => gateway.call('POST', '/test/clock', { advance: duration })

let batches = 0
async function batch(): Promise<string> {
  const files = await stage.batch(`out-${++batches}`)
  expect(files).toHaveLength(1)
  return textOf(files[0])
}

test('the charges of a plan are FRST, RCUR and at the end FNAL', async () => {
  // The plan has two more charges, after one and two months.
  const { planId } = await beginPlan('sequence', inDays(62))
  expect(await batch()).toContain('<SeqTp>FRST</SeqTp>')
  await advance('P31D')
  expect(await batch()).toContain('<SeqTp>RCUR</SeqTp>')
  await advance('P31D')
  expect(await batch()).toContain('<SeqTp>FNAL</SeqTp>')
  expect(await readPlan(planId)).toMatchObject({ numberOfPayments: 3 })
})

test('a return that one file reports under two references suspends the plan once, with an event about the return', async () => {
  const { payId, planId } = await beginPlan('returned-twice', '2199-12-31')
  const endToEndId = /<EndToEndId>(\w+)</.exec(await batch())?.[1] ?? ''
  const back = { cents: 1000, direction: 'DBIT', endToEndId, reason: 'MD01' } as const
  const text = statement(['first', 'second'].map(name => ({ reference: `RT-${name}`, ...back })))
  const file = commands.file('returned-twice.xml', text)
  expect(await stage.import(file)).toMatchObject({ returned: 1, unmatched: [] })
  expect(await readPlan(planId)).toMatchObject({ status: 'SUSPENDED' })
  const { data } = (await gateway.call('GET', `/events?payId=${payId}`)).body
  const suspended = data.filter(({ type }: { type: string }) => type === 'plan.suspended')
  expect(suspended.map(({ body }: { body: { operation?: object } }) => body.operation)).toMatchObject([
    { type: 'RETURN' },
  ])
})

/** Collects the first debit of that plan, and has the bank return it later because the mandate has ended. */
async function returnDebit(name: string, before: () => Promise<unknown>): Promise<void> {
  const text = await batch()
  await before()
  const mandate = text.indexOf(`<MndtId>M-${name}</MndtId>`)
  const endToEndId = text.slice(text.lastIndexOf('<EndToEndId>', mandate) + 12).slice(0, 32)
  const back = { reference: `R-${name}`, cents: 1000, direction: 'DBIT', endToEndId, reason: 'MD01' } as const
  const file = commands.file(`${name}.xml`, statement([back]))
  expect(await stage.import(file)).toMatchObject({ returned: 1, unmatched: [] })
}

test('a return that ends the mandate suspends a PAUSED plan as well', async () => {
  const { payId, planId } = await beginPlan('paused', '2199-12-31')
  await returnDebit('paused', () => gateway.call('POST', `/payment-plans/${planId}/pause`, {}))
  expect(await readPlan(planId)).toMatchObject({ status: 'SUSPENDED' })
  const { data } = (await gateway.call('GET', `/events?payId=${payId}`)).body
  expect(data.map(({ type }: { type: string }) => type)).toContain('plan.suspended')
})

test('a return of a debit does not suspend a plan that was moved to another mandate since', async () => {
  const { planId } = await beginPlan('moved', '2199-12-31')
  await returnDebit('moved', async () => {
    const paid = await gateway.call('POST', '/payments', {
      transId: 'moved-other',
      amount: { value: 1000, currency: 'EUR' },
      customerInfo: { merchantCustomerId: 'customer moved', email: 'ann@example.com' },
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'DIRECTDEBIT',
        directDebit: {
          account: { number: 'DE02120300000000202051', accountHolderName: 'Ann Müller' },
          mandateId: 'M-second',
          dateOfSignature: '01.11.2026',
        },
      },
    })
    const { gatewayCustomerId } = paid.body.customerInfo
    const { data } = (await gateway.call('GET', `/customers/${gatewayCustomerId}/paymentMethods`)).body
    const paymentMethodId = data.find((one: { last4Digits: string }) => one.last4Digits === '2051').id
    const moved = await gateway.call('PATCH', `/payment-plans/${planId}`, { paymentMethodId })
    expect(moved).toMatchObject({ status: 200, body: { paymentMethodId } })
  })
  expect(await readPlan(planId)).toMatchObject({ status: 'ACTIVE' })
})

test('a return with AC04, MD01, MD06 or MD07 suspends the plan, one with AM04 does not', async () => {
  const reasons = ['AC04', 'MD01', 'MD06', 'MD07', 'AM04']
  const plans = new Map<string, { payId: string; planId: string }>()
  for (const reason of reasons) plans.set(reason, await beginPlan(`returned-${reason}`, '2199-12-31'))
  const text = await batch()
  const returned = reasons.map(reason => {
    const mandate = text.indexOf(`<MndtId>M-returned-${reason}</MndtId>`)
    const endToEndId = text.slice(text.lastIndexOf('<EndToEndId>', mandate) + 12).slice(0, 32)
    return { reference: `R-${reason}`, cents: 1000, direction: 'DBIT', endToEndId, reason } as const
  })
  const file = commands.file('returns.xml', statement(returned, { message: '054' }))
  expect(await stage.import(file)).toMatchObject({ returned: 5, unmatched: [] })
  await advance('P31D')
  for (const [reason, { payId, planId }] of plans) {
    const goesOn = reason === 'AM04'
    expect({ reason, ...(await readPlan(planId)) }).toMatchObject({
      reason,
      status: goesOn ? 'ACTIVE' : 'SUSPENDED',
      numberOfPayments: goesOn ? 2 : 1,
    })
    const { data } = (await gateway.call('GET', `/events?payId=${payId}`)).body
    const suspended = data.filter(({ type }: { type: string }) => type === 'plan.suspended')
    expect({ reason, told: suspended.length }).toEqual({ reason, told: goesOn ? 0 : 1 })
    if (!goesOn)
      expect(suspended[0].body).toMatchObject({
        paymentPlanId: planId,
        operation: { type: 'RETURN', status: 'OK', amount: { value: 1000, currency: 'EUR' } },
      })
  }
})
