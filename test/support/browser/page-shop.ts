/** A shop whose customers pay on our pages: sessions, links and payments made HOSTED, by their shortest request. */

import type { ReturnPlace } from '#test/support/browser/visitor.ts'
import type { TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

export interface Begun {
  readonly payId: string
  /** Address of the customer's page. */
  readonly href: string
}

export interface PageShop extends Shop {
  session(change?: object): Promise<Begun>
  link(change?: object): Promise<Begun>
  hosted(type: string, change?: object): Promise<Begun>
  /** Status of the payment, and of its tries, oldest first. */
  tries(payId: string): Promise<readonly [status: string, tries: readonly string[]]>
}

let orders = 0

export async function openPageShop(
  gateway: TestGateway,
  { urls }: Pick<ReturnPlace, 'urls'>,
): Promise<PageShop> {
  const shop = await openShop(gateway)

  async function begin(path: string, body: object): Promise<Begun> {
    orders += 1
    const {
      status,
      body: answer,
      text,
    } = await shop.call('POST', path, {
      transId: `page-${process.pid}-${orders}`,
      amount: { value: 4999, currency: 'EUR' },
      ...body,
    })
    if (status !== 200) throw new Error(text)
    return { payId: answer.payId, href: answer._links.redirect.href }
  }

  return {
    ...shop,
    session: change => begin('/payments/sessions', { urls, ...change }),
    link: change => begin('/payments/links', { ...change }),
    hosted: (type, change) =>
      begin('/payments', { urls, paymentMethods: { integrationType: 'HOSTED', type }, ...change }),
    async tries(payId) {
      const { status, operations } = await shop.read(payId)
      const tries = operations.filter(({ type }: { type: string }) => type === 'AUTHORIZATION')
      return [status, tries.map(({ responseCode }: { responseCode: string }) => responseCode)]
    },
  }
}
