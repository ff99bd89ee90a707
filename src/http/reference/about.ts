/** The name, version and tags of the API, shared by the served document, the checked-in one and the page. */
export const about = {
  title: 'Tollgate API',
  /** The version of the whole description; also sent as X-Api-Version. */
  version: '2.5.0',
  description:
    'Take payments, move them along, and see what became of them. One address, JSON both ways, and an answer that is ' +
    'true even when a line breaks in the middle.',
  tags: [
    {
      name: 'Authorization',
      description: 'Access tokens, for callers that do not want to send their API key each time.',
    },
    {
      name: 'Payments',
      description:
        'A payment is created once and keeps its `payId` for life. Each thing done to it afterwards is an operation ' +
        'with an `xId` of its own.',
    },
    { name: 'Payment intents', description: 'Payments prepared by a server and confirmed by an app.' },
    {
      name: 'Customers',
      description: 'People who pay more than once, and the payment methods they have stored.',
    },
    { name: 'Payment plans', description: 'Permission to charge again: recurring or unscheduled.' },
    { name: 'Services', description: 'Questions around a payment that move no money.' },
    { name: 'Events', description: 'What was sent to your webhook address, with every attempt.' },
    { name: 'Test', description: 'The levers of the test environment: clock, faults and catalogue.' },
  ],
} as const
