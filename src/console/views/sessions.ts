/** Where a person is signed in, each with the way to end it. */
import type { Visit } from '#console/context.ts'
import { renderForm, showTime, type TypedColumn } from '#console/views/parts.ts'
import type { StoredSession } from '#storage/console/people.ts'

export const isSessionId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text)

export const sessionColumns = (visit: Visit, action: string): readonly TypedColumn<StoredSession>[] => [
  { title: 'Since', show: ({ createdAt }) => showTime(createdAt) },
  { title: 'Last seen', show: ({ seenAt }) => showTime(seenAt) },
  { title: 'From', show: ({ address }) => address },
  { title: 'Browser', show: ({ browser }) => browser, clip: true },
  {
    title: 'End it',
    show: ({ sessionId }) =>
      sessionId === visit.sessionId
        ? 'this one'
        : renderForm({ action, csrf: visit.csrf, hidden: { sessionId }, button: 'End', tone: 'danger' }),
  },
]
