/** The console in a real browser: setting up and signing in, by keyboard, without a script, on a phone, in the dark. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { totpCode, totpStep } from '#console/totp.ts'
import { makeLink, readSecret } from '#test/support/browser/console.ts'
import {
  closePages,
  expectSound,
  findBrowser,
  findViolations,
  leaveBrowser,
  narrowest,
  visitAnew,
} from '#test/support/browser/visitor.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

const found = await findBrowser()
const password = 'correct horse battery staple'

describe.runIf(found)('in a browser', () => {
  const browser = found as Browser
  let gateway: TestGateway
  /** Browsers refuse passkeys on a bare IP address. */
  let origin: string
  let payId: string
  /** The payment with the longest amount. */
  let longest: string
  /** One object of each kind that has a page of its own. */
  let single: readonly string[]

  beforeAll(async () => {
    gateway = await startTestGateway()
    origin = gateway.url.replace('127.0.0.1', 'localhost')
    payId = (await gateway.call('POST', '/payments', cardPayment())).body.payId
    const disputed = cardPayment({ card: { number: '4000000000002685' } })
    await gateway.call('POST', '/payments', disputed)
    await gateway.call('POST', '/test/clock', { advance: 'P3D' })
    for (const [value, currency] of [
      [123_456, 'CHF'],
      [12_345, 'KWD'],
      [999_999_999_999, 'TND'],
    ])
      longest = (await gateway.call('POST', '/payments', cardPayment({ amount: { value, currency } }))).body
        .payId
    const transfer = await gateway.call('POST', '/payments', {
      transId: 'a-method-with-a-long-name',
      amount: { value: 1_000, currency: 'EUR' },
      paymentMethods: { integrationType: 'DIRECT', type: 'SEPACREDITTRANSFER' },
    })
    await gateway.call('POST', `/test/payments/${transfer.body.payId}/customer-action`, { action: 'approve' })
    const link = await gateway.call('POST', '/payments/links', {
      transId: 'a-link',
      amount: { value: 1234, currency: 'EUR' },
      description: 'Consulting',
    })
    const planned = cardPayment({
      customerInfo: { merchantCustomerId: 'a-customer', email: 'ada@example.com' },
      credentialOnFile: {
        type: 'RECURRING',
        initialPayment: true,
        recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
      },
      card: { expiryDate: '209912' },
    })
    const { paymentPlanId, customerInfo } = (await gateway.call('POST', '/payments', planned)).body
    await gateway.call('POST', `/test/payments/${payId}/events`, { type: 'payment.captured' })
    const [event] = (await gateway.call('GET', `/events?payId=${payId}`)).body.data
    const [dispute] = (await gateway.call('GET', '/disputes')).body.data
    single = [
      `/links/${link.body.id}`,
      `/plans/${paymentPlanId}`,
      `/customers/${customerInfo.gatewayCustomerId}`,
      `/events/${event.id}`,
      `/disputes/${dispute.disputeId}`,
    ]
  })
  afterEach(() => closePages(browser))
  afterAll(async () => {
    await leaveBrowser(browser)
    await gateway.stop()
  })

  const inMerchant = (path: string) => `${origin}/console/m/${gateway.merchantId}${path}`

  const readCode = async (page: Page): Promise<string> =>
    totpCode(readSecret(await page.content()), totpStep(Date.now()))

  /** A person with this role, signed in by their link. */
  async function signedIn(role: 'owner' | 'support', options: BrowserContextOptions = {}) {
    const { path } = await makeLink(gateway, { role })
    const seen = await visitAnew(browser, `${origin}${path}`, options)
    await seen.page.fill('#f-password', password)
    await seen.page.fill('#f-code', await readCode(seen.page))
    await seen.page.click('text="Set up"')
    await seen.page.waitForURL(/\/console\/m\//)
    return seen
  }

  /** Moves the focus with the Tab key, like a person without a mouse. */
  async function tabTo(page: Page, selector: string): Promise<void> {
    for (let step = 0; step < 60; step += 1) {
      await page.keyboard.press('Tab')
      if (await page.evaluate(`document.activeElement?.matches('${selector}')`)) return
    }
    throw new Error(`${selector} cannot be reached by keyboard`)
  }

  test('a password with codes is set up, and a payment refunded, by keyboard alone', async () => {
    const { path } = await makeLink(gateway, { role: 'support' })
    const seen = await visitAnew(browser, `${origin}${path}`)
    const { page } = seen
    await expectSound(seen, [origin])
    await tabTo(page, '#f-password')
    await page.keyboard.type(password)
    await tabTo(page, '#f-code')
    await page.keyboard.type(await readCode(page))
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/console\/m\//)
    await page.goto(inMerchant(`/payments/${payId}`))
    await tabTo(page, '.button[href$="/refunds"]')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/refunds$/)
    await tabTo(page, '#f-amount')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('100')
    await page.keyboard.press('Enter')
    await page.getByText('cannot be undone').waitFor()
    await tabTo(page, 'button.danger')
    await page.keyboard.press('Enter')
    await page.getByText('Refunded.').waitFor()
    const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
    expect(body.amount.refundedValue).toBe(100)
    expect(seen.complaints).toEqual([])
  })

  test('a passkey is set up and signs in', async () => {
    const { path, email } = await makeLink(gateway, { role: 'viewer' })
    const { page, context } = await visitAnew(browser, `${origin}${path}`)
    const devtools = await context.newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    await page.click('text="Use a passkey"')
    await page.waitForURL(/\/console\/m\//)
    await page.click('.person summary')
    await page.click('text="Sign out"')
    await page.waitForURL(/\/console\/sign-in/)
    await page.click('text="Sign in with a passkey"')
    await page.waitForURL(/\/console\/m\//)
    expect(await page.locator('.person summary').textContent()).toBe(email)
  })

  const listed = [
    '',
    '/payments',
    '/operations',
    '/customers',
    '/plans',
    '/links',
    '/links/new',
    '/disputes',
    '/settlements',
    '/reconciliation',
    '/events',
    '/endpoints',
    '/providers',
    '/providers/new',
    '/providers/new?connector=bank',
    '/providers/notices',
    '/keys',
    '/settings',
    '/inbox',
    '/test',
  ]
  const shared = ['/merchants', '/operators', '/audit', '/sessions', '/search?q=1111']
  /** One page of each layout: these show every problem of colours. */
  const some = ['', '/links/new', '/providers', '/inbox', '/test']
  /** 12.34 in one line and 5 in the next would be read as another amount. */
  const brokenAmounts = `[...document.querySelectorAll('.money')]
    .filter(amount => amount.getClientRects().length > 1 || amount.getBoundingClientRect().height > 1.8 * parseFloat(getComputedStyle(amount).fontSize))
    .map(amount => amount.textContent)`
  const hiddenLabel = `[...document.querySelectorAll('.shares :is(text, span)')].some(label =>
    [...document.querySelectorAll('.shares rect')].some(bar => {
      const [a, b] = [label, bar].map(one => one.getBoundingClientRect())
      return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
    }))`
  const looks: [string, BrowserContextOptions, readonly string[]][] = [
    ['light on a desktop', { colorScheme: 'light' }, listed],
    ['dark on the narrowest phone', { colorScheme: 'dark', viewport: narrowest, hasTouch: true }, some],
  ]

  test.each(looks)(
    '%s every page is accessible, quiet, and not wider than the screen',
    async (_, look, judged) => {
      const { page, complaints, requested } = await signedIn('owner', look)
      const wrong: string[] = []
      const addresses = [
        ...listed.map(inMerchant),
        ...shared.map(path => `${origin}/console${path}`),
        inMerchant(`/payments/${payId}`),
        inMerchant(`/payments/${payId}/refunds`),
        inMerchant(`/payments/${longest}`),
        ...single.map(inMerchant),
      ]
      for (const address of addresses) {
        const response = await page.goto(address)
        if (response?.status() !== 200) wrong.push(`${address} ${response?.status()}`)
        if (judged === listed || judged.some(path => address === inMerchant(path)))
          wrong.push(...(await findViolations(page)).map(violation => `${address} ${violation}`))
        const broken = await page.evaluate<string[]>(brokenAmounts)
        wrong.push(...broken.map(text => `${address} breaks ${text}`))
        if (await page.evaluate(hiddenLabel)) wrong.push(`${address} writes on a bar`)
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        if (Number(overflow) > 0) wrong.push(`${address} is ${overflow} px too wide`)
      }
      expect(wrong).toEqual([])
      expect(complaints).toEqual([])
      for (const address of [inMerchant('/nowhere'), `${origin}/console/setup/nothing`]) {
        await page.goto(address)
        wrong.push(...(await findViolations(page)).map(violation => `${address} ${violation}`))
      }
      expect(wrong).toEqual([])
      expect(requested.filter(url => new URL(url).origin !== origin)).toEqual([])
    },
  )

  test('on the narrowest phone, names and values fit, however large the text and long the name of an account', async () => {
    const { page } = await signedIn('owner', { viewport: narrowest })
    const wide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
    await page.evaluate(`document.querySelector('main').insertAdjacentHTML('beforeend',
      '<form class="act"><div class="field"><select><option>Marketplace payouts and terminals in Switzerland</option></select></div></form>')`)
    expect(await page.evaluate(wide)).toBe(0)
    const { payId: waiting } = (await gateway.call('GET', '/payments?transId=a-link')).body.data[0]
    const payments = [payId, longest, waiting].map(id => `/payments/${id}`)
    for (const path of ['/settings', '/settlements', '/endpoints', '/test', '/links/new', ...payments]) {
      await page.goto(inMerchant(path))
      await page.evaluate(`document.documentElement.style.fontSize = '200%'`)
      expect([path, await page.evaluate(wide)]).toEqual([path, 0])
    }
  })

  test('the pages of a person, of an account and of acts that ask for confirmation are accessible', async () => {
    const { page, complaints } = await signedIn('owner')
    const wrong: string[] = []
    const judge = async (name: string) =>
      wrong.push(...(await findViolations(page)).map(violation => `${name}: ${violation}`))
    await page.goto(`${origin}/console/operators`)
    await page.locator('tbody a').first().click()
    await page.waitForURL(/\/operators\/[^/?]+$/)
    await judge('operator')
    const { merchantId } = await gateway.gateway.merchants.create('With an account')
    await page.goto(`${origin}/console/m/${merchantId}/providers/new?connector=simulator`)
    await judge('new account')
    await page.fill('#f-name', 'Main')
    await page.click('text="Add the account"')
    await page.waitForURL(/\/providers\/accounts\/.*done=/)
    await judge('account')
    const manual = cardPayment({ captureMethod: { type: 'MANUAL' } })
    const held = (await gateway.call('POST', '/payments', manual)).body.payId
    for (const act of ['captures', 'reversals']) {
      await page.goto(inMerchant(`/payments/${held}/${act}`))
      await judge(act)
      await page.locator('main form button').first().click()
      await page.getByText('cannot be undone').waitFor()
      await judge(`${act}, asked again`)
    }
    expect(wrong).toEqual([])
    expect(complaints).toEqual([])
  })

  test('shortcuts open pages, ids are copied, and the page of a waiting payment refreshes', async () => {
    const { page, context, complaints } = await signedIn('owner')
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin })
    await page.keyboard.press('?')
    expect(await page.locator('.keys').textContent()).toContain('Payments')
    await page.keyboard.press('Escape')
    expect(await page.locator('.keys').count()).toBe(0)
    await page.keyboard.press('/')
    await page.keyboard.type('g p')
    expect(await page.locator('#q').inputValue()).toBe('g p')
    await page.locator('#main').focus()
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await page.waitForURL(/\/payments$/)
    const sent: string[] = []
    page.on('request', request => void (request.method() === 'POST' && sent.push(request.url())))
    await page.goto(inMerchant('/test'))
    await page.dblclick('text="Add a fault"')
    await page.waitForURL(/done=saved$/)
    expect(sent).toEqual([inMerchant('/test/faults')])
    await page.click('text="Forget all faults"')
    await page.waitForURL(/done=removed$/)
    const { body } = await gateway.call('POST', '/payments/links', {
      transId: 'waits-for-its-customer',
      amount: { value: 1234, currency: 'EUR' },
    })
    await page.clock.install()
    await page.goto(inMerchant(`/payments/${body.payId}`))
    await page.locator('dd:has-text("Copy") button').first().click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(body.payId)
    await page.locator('.curl summary').click()
    await Promise.all([
      page.waitForResponse(response => response.request().headers()['x-refresh'] === '1'),
      page.clock.fastForward(5_000),
    ])
    expect(await page.locator('.curl').getAttribute('open')).toBe('')
    await gateway.call('POST', `/payments/${body.payId}/cancellations`, {})
    await page.clock.fastForward(5_000)
    await page.locator('.amount .badge', { hasText: 'FAILED' }).waitFor()
    expect(await page.locator('button.copy').count()).toBeGreaterThan(0)
    expect(complaints).toEqual([])
  })

  test('without a script the first payment is one click, and only passkeys are missing', async () => {
    const { merchantId } = await gateway.gateway.merchants.create('An empty shop')
    const { page } = await signedIn('owner', { javaScriptEnabled: false })
    await page.goto(`${origin}/console/m/${merchantId}`)
    await page.click('text="Make a test payment"')
    expect(await page.locator('h1').textContent()).toContain('Payment console-')
    expect(await page.locator('.timeline').textContent()).toContain('CAPTURE')
    await page.click('text="Refund"')
    await page.click('form.act button')
    await page.click('button.danger')
    expect(await page.locator('[role=status]').textContent()).toBe('Refunded.')
    // Two clicks are two requests here; the second cancels the answer of the first.
    await page.goto(`${origin}/console/m/${merchantId}/test`)
    await page.dblclick('text="Add a fault"')
    // The second press aborts the first navigation, which is an error to code that waits for that navigation.
    await expect.poll(() => page.url()).toMatch(/done=/)
    await page.waitForLoadState()
    expect(await page.locator('[aria-label="Faults"] tbody tr').count()).toBe(1)
  })

  test('the first load is at most 60 kB', async () => {
    const { page } = await signedIn('owner')
    const sizes: Promise<number>[] = []
    page.on('response', response =>
      sizes.push(
        response
          .request()
          .sizes()
          .then(({ responseBodySize }) => responseBodySize),
      ),
    )
    await page.goto(inMerchant('/payments'), { waitUntil: 'networkidle' })
    const cached = ['console.css', 'console.js', 'icon.svg']
    const loaded = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
    const assets = await Promise.all(
      (
        await page
          .locator('link[href], script[src]')
          .evaluateAll(nodes =>
            nodes.map(node => node.getAttribute('href') ?? node.getAttribute('src') ?? ''),
          )
      ).map(async address => {
        const answer = await fetch(origin + address, { headers: { 'accept-encoding': 'gzip' } })
        return Number(answer.headers.get('content-length'))
      }),
    )
    expect(assets).toHaveLength(cached.length)
    expect(loaded + assets.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(60_000)
  })
})
