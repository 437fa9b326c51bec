/** Icons are drawn with strokes in a box of 24, except the paw. */
const shapes = {
  overview: <path d="M4 13h6V4H4zm10 7h6V4h-6zM4 20h6v-3H4z" />,
  paw: (
    <g fill="currentColor" stroke="none">
      <ellipse cx="5" cy="11" rx="2.3" ry="3" />
      <ellipse cx="9.4" cy="6" rx="2.4" ry="3.3" />
      <ellipse cx="14.6" cy="6" rx="2.4" ry="3.3" />
      <ellipse cx="19" cy="11" rx="2.3" ry="3" />
      <path d="M12 11.5c-3.2 0-6 3.6-6 6.2 0 2 1.6 2.8 3.2 2.8 1.2 0 1.9-.5 2.8-.5s1.6.5 2.8.5c1.6 0 3.2-.8 3.2-2.8 0-2.6-2.8-6.2-6-6.2z" />
    </g>
  ),
  category: <path d="M4 5h6l10 10-6 6L4 11zM8 9h.01" />,
  keyboard: <path d="M3 7h18v10H3zM7 11h.01M12 11h.01M17 11h.01M8 14h8" />,
  orders: (
    <path d="M9 5h6m-6 0a2 2 0 0 0-2-1H6a1 1 0 0 0-1 1v14a1 1 0 0 0 1 1h12a1 1 0 0 0 1-1V5a1 1 0 0 0-1-1h-1a2 2 0 0 0-2 1m-6 0a1 1 0 0 0 1 1h4a1 1 0 0 0 1-1M9 12l2 2 4-4" />
  ),
  store: (
    <path d="M5 12v8h14v-8M4 9l2-5h12l2 5a2.7 2.7 0 0 1-5.3 0 2.7 2.7 0 0 1-5.4 0A2.7 2.7 0 0 1 4 9zM10 20v-4h4v4" />
  ),
  webhook: (
    <path d="M12 8a3.5 3.5 0 1 0-3 3.4L6.5 16M12 8l3 5.5M15 13.5A3.5 3.5 0 1 1 14.5 18H8M6.5 16a2.5 2.5 0 1 0 1.5 2" />
  ),
  key: <path d="M14 10a4 4 0 1 0-3.2 3.9L13 16h2v2h2v2h3v-3.2l-6.1-6.1A4 4 0 0 0 14 10zm-5 0h.01" />,
  audit: <path d="M8 6h12M8 12h12M8 18h7M4 6h.01M4 12h.01M4 18h.01" />,
  limits: <path d="M12 14l4-4M4.5 18a9 9 0 1 1 15 0" />,
  docs: <path d="M5 5a2 2 0 0 1 2-2h12v18H7a2 2 0 0 1-2-2zm0 14a2 2 0 0 1 2-2h12" />,
  menu: <path d="M4 7h16M4 12h16M4 17h16" />,
  close: <path d="M6 6l12 12M18 6L6 18" />,
  plus: <path d="M12 5v14M5 12h14" />,
  filter: <path d="M4 6h16M7 12h10M10 18h4" />,
  more: <path d="M6 12h.01M12 12h.01M18 12h.01" stroke-width="3" />,
  search: <path d="M16 16l4.5 4.5M18 11a7 7 0 1 1-14 0 7 7 0 0 1 14 0z" />,
  refresh: <path d="M20 11a8 8 0 0 0-14.3-4L4 9m0-5v5h5M4 13a8 8 0 0 0 14.3 4L20 15m0 5v-5h-5" />,
  signOut: (
    <path
      d="M14 4h4a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1h-4M4 12h10m-4-4l4 4-4 4"
      transform="matrix(-1 0 0 1 23 0)"
    />
  ),
  alert: (
    <path d="M12 8v5m0 3.5h.01M10.3 4.3L2.9 17.2A2 2 0 0 0 4.6 20h14.8a2 2 0 0 0 1.7-2.8L13.7 4.3a2 2 0 0 0-3.4 0z" />
  ),
  clock: <path d="M12 7v5l3 2m6-2a9 9 0 1 1-18 0 9 9 0 0 1 18 0z" />,
  offline: (
    <path d="M3 3l18 18M8.5 15.5a5 5 0 0 1 7 0M5 12a10 10 0 0 1 5-2.7m4 0a10 10 0 0 1 5 2.7M12 19h.01" />
  ),
  lock: (
    <path d="M7 11V8a5 5 0 0 1 10 0v3M6 11h12a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1z" />
  ),
  check: <path d="M5 12.5l4.5 4.5L19 7.5" />,
  copy: <path d="M9 9h10v11H9zM5 15V4h10" />,
  photo: <path d="M4 6h16v13H4zM4 16l5-5 4 4 3-3 4 4M15 10h.01" />,
  back: <path d="M19 12H5m5 5l-5-5 5-5" />,
  sun: (
    <path d="M12 4V2m0 20v-2m8-8h2M2 12h2m13.7-5.7l1.4-1.4M4.9 19.1l1.4-1.4m0-11.4L4.9 4.9m14.2 14.2l-1.4-1.4M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0z" />
  ),
  moon: <path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.500 10.500z" />,
  system: <path d="M4 5h16v11H4zm5 15h6m-3-4v4" />,
} as const

export type IconName = keyof typeof shapes

export const Icon = ({ name }: { name: IconName }) => (
  <svg
    class="icon"
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="1.8"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    {shapes[name]}
  </svg>
)
