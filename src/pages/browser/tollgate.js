/**
 * The script for a shop's own page: shows the checkout of a session, or card fields, in a frame of the gateway's origin.
 * Nothing that the customer types touches the shop's page. It needs no other file and sends nothing anywhere.
 */
;(() => {
  const { origin } = new URL(document.currentScript.src)

  function readAddress(session) {
    const address = typeof session === 'string' ? session : session?._links?.redirect?.href
    if (!URL.canParse(address ?? '') || new URL(address).origin !== origin)
      throw new TypeError(
        `session must be the answer to POST /payments/sessions, or its address at ${origin}`,
      )
    return address
  }

  /** The address of the shop's own page that the customer has come back to; undefined while they are at the gateway. */
  function readReturn(frame) {
    try {
      const { href } = frame.contentWindow.location
      return href.startsWith(`${location.origin}/`) ? href : undefined
    } catch {
      return undefined
    }
  }

  /** Actions that wait for the end of a press; undefined while nothing is pressed. */
  let held

  /**
   * Leaving a field may show an error line. The shop's button below the frame must not move away while the customer
   * presses it: the release would hit something else, and nothing would happen.
   */
  function afterPress(act) {
    if (held === undefined) act()
    else held.push(act)
  }

  function release() {
    const acts = held ?? []
    held = undefined
    for (const act of acts) act()
  }

  const press = () => {
    held ??= []
  }
  addEventListener('pointerdown', press, true)
  // After the click, which follows in the same turn.
  for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => setTimeout(release), true)

  /** A frame that grows with its content; `hear` receives the messages of its own window at the gateway's origin. */
  function createFrame({ address, title, height: first, onResize }, hear) {
    const frame = document.createElement('iframe')
    frame.title = title
    frame.style.cssText = `border:0;width:100%;height:${first};display:block`
    frame.setAttribute('scrolling', 'no')
    const listen = event => {
      if (event.source !== frame.contentWindow || event.origin !== origin) return
      hear?.(event.data ?? {})
      if (event.data?.type !== 'tollgate:height' || !(event.data.height > 0)) return
      const { height } = event.data
      afterPress(() => {
        frame.style.height = `${Math.min(height, 10_000)}px`
        onResize?.(height)
      })
    }
    return {
      frame,
      tell: message => frame.contentWindow?.postMessage(message, origin),
      mount(place) {
        const target = typeof place === 'string' ? document.querySelector(place) : place
        if (!target) throw new TypeError(`there is no element ${place} to mount the frame in`)
        addEventListener('message', listen)
        frame.src = address
        target.replaceChildren(frame)
      },
      unmount() {
        removeEventListener('message', listen)
        frame.remove()
      },
    }
  }

  function checkout({ session, title = 'Payment', onReturn, onResize }) {
    const address = readAddress(session)
    const { frame, tell, mount, unmount } = createFrame({ address, title, height: '40rem', onResize })
    let isNext = false
    frame.addEventListener('load', () => {
      const back = readReturn(frame)
      // Scroll to the top, as for any new page: the button that led to it was further down.
      if (back === undefined && isNext && frame.getBoundingClientRect().top < 0) frame.scrollIntoView()
      isNext = true
      if (back === undefined) return tell({ type: 'tollgate:hello' })
      unmount()
      if (onReturn) onReturn(back)
      else location.assign(back)
    })
    return {
      mount(place) {
        mount(place)
        return this
      },
      unmount,
    }
  }

  /** The message about wrong entries, in the customer's language; `fields` names the fields. */
  class FieldsError extends Error {
    constructor({ error, fields = [] }) {
      super(error)
      this.name = 'FieldsError'
      this.fields = fields
    }
  }

  /** 5 s: far more than a message between two windows takes. */
  const answerMs = 5_000
  const lost = 'The card fields could not be loaded. Load the page again.'
  const gone = 'the card fields are gone'

  function fields({ merchant, language, title = 'Card', onReady, onChange, onSubmit, onResize }) {
    if (typeof merchant !== 'string' || merchant === '')
      throw new TypeError('merchant must be the id of the merchant whose API key will bring the token')
    const address = new URL(`/pay/fields/${encodeURIComponent(merchant)}`, origin)
    if (language !== undefined) address.searchParams.set('language', language)
    const waiting = new Map()
    let asked = 0
    let isReady = false
    /** Why no request can be answered; undefined while the fields are there or on their way. */
    let problem
    let patience
    const refuseAll = error => {
      for (const { reject } of waiting.values()) reject(new FieldsError({ error }))
      waiting.clear()
    }
    // The script of the fields listens before the frame's load event, so no answer means that the frame shows something
    // else.
    const giveUp = () => {
      if (isReady) return
      problem = lost
      refuseAll(lost)
    }
    const ask = id => placed.tell({ type: 'tollgate:tokenize', id })
    // A customer may press the shop's button before the frame has loaded: such requests are sent once it has.
    const begin = () => {
      isReady = true
      for (const id of waiting.keys()) ask(id)
      onReady?.()
    }
    const settle = ({ id, token, card, ...refused }) => {
      const { resolve, reject } = waiting.get(id) ?? {}
      waiting.delete(id)
      if (token === undefined) reject?.(new FieldsError(refused))
      else resolve?.({ token, ...card })
    }
    const hear = ({ type, ...message }) => {
      if (type === 'tollgate:ready') begin()
      if (type === 'tollgate:change') onChange?.(message)
      if (type === 'tollgate:submit') onSubmit?.()
      if (type === 'tollgate:token') settle(message)
    }
    const placed = createFrame({ address: address.href, title, height: '22rem', onResize }, hear)
    placed.frame.addEventListener('load', () => {
      placed.tell({ type: 'tollgate:hello' })
      clearTimeout(patience)
      patience = setTimeout(giveUp, answerMs)
    })
    return {
      mount(place) {
        // The frame loads anew wherever it is put, also where it was before.
        isReady = false
        problem = undefined
        placed.mount(place)
        return this
      },
      /** The token for `card.number` of POST /payments: for 15 minutes, for one payment of this merchant. */
      tokenize: () =>
        new Promise((resolve, reject) => {
          asked += 1
          waiting.set(asked, { resolve, reject })
          if (isReady) ask(asked)
          else if (problem) refuseAll(problem)
        }),
      unmount() {
        clearTimeout(patience)
        isReady = false
        problem = gone
        placed.unmount()
        refuseAll(gone)
      },
    }
  }

  window.tollgate = Object.freeze({ checkout, fields })
})()
