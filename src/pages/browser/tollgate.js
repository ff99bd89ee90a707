/**
 * The script for a shop's own page: shows the checkout of a session in a frame of the gateway's origin. Nothing that the
 * customer types touches the shop's page. It needs no other file and sends nothing anywhere.
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

  function checkout({ session, title = 'Payment', onReturn, onResize }) {
    const address = readAddress(session)
    const frame = document.createElement('iframe')
    frame.title = title
    frame.style.cssText = 'border:0;width:100%;height:40rem;display:block'
    frame.setAttribute('scrolling', 'no')

    const listen = event => {
      if (event.source !== frame.contentWindow || event.origin !== origin) return
      if (event.data?.type !== 'tollgate:height' || !(event.data.height > 0)) return
      frame.style.height = `${Math.min(event.data.height, 10_000)}px`
      onResize?.(event.data.height)
    }
    const unmount = () => {
      removeEventListener('message', listen)
      frame.remove()
    }
    frame.addEventListener('load', () => {
      const back = readReturn(frame)
      if (back === undefined) return frame.contentWindow.postMessage({ type: 'tollgate:hello' }, origin)
      unmount()
      if (onReturn) onReturn(back)
      else location.assign(back)
    })

    return {
      mount(place) {
        const target = typeof place === 'string' ? document.querySelector(place) : place
        if (!target) throw new TypeError(`there is no element ${place} to mount the checkout in`)
        addEventListener('message', listen)
        frame.src = address
        target.replaceChildren(frame)
        return this
      },
      unmount,
    }
  }

  window.tollgate = Object.freeze({ checkout })
})()
