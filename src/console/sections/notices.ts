/** Provider notices that match none of our operations: a person has to look, because nothing is guessed. */
import { loadConsoleAssets } from '#console/assets.ts'
import type { MerchantPage, MerchantVisit } from '#console/context.ts'
import { renderInside } from '#console/layout.ts'
import { renderTable, renderTerminal, showState, showTime, type TypedColumn } from '#console/views/parts.ts'
import { html } from '#http/html.ts'
import type { ListedItem } from '#storage/providers/notices.ts'

/** 100: more than anybody clears up in one go. */
const shownNotices = 100

const columnsOf = (names: ReadonlyMap<string, string>): readonly TypedColumn<ListedItem>[] => [
  { title: 'Received', show: ({ receivedAt }) => showTime(receivedAt) },
  { title: 'Account', show: ({ accountId }) => names.get(accountId) ?? accountId, clip: true },
  { title: 'What it says', show: ({ kind }) => kind },
  { title: 'Reference', show: ({ reference }) => reference ?? '', clip: true },
  { title: 'State', show: ({ state }) => showState(state) },
  { title: 'Tried', show: ({ attempts }) => `${attempts} ×`, numeric: true },
]

async function showNotices(visit: MerchantVisit) {
  const { merchant, deps } = visit
  const { merchantId } = merchant
  const [accounts, notices] = await Promise.all([
    deps.providersAs(visit.audit).list(merchantId),
    deps.notices.list({ merchantId, unmatched: true, limit: shownNotices }),
  ])
  const names = new Map(accounts.map(({ accountId, name }) => [accountId, name]))
  const main = html`<p>Genuine notices of providers that fit no payment of this merchant. They are tried again for a while; what stays belongs to something that was made outside, or to another system.</p>${renderTable(
    notices,
    columnsOf(names),
    'Every notice has found its payment.',
    'Notices',
  )}${renderTerminal(`notices list --merchant ${merchantId} --unmatched`)}<p><a href="/console/m/${merchantId}/providers">Back to providers and routes</a></p>`
  return renderInside(loadConsoleAssets(), visit, { title: 'Unmatched notices', main, merchant })
}

export const noticePages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/providers/notices', act: 'providers', show: showNotices },
]
