/** Short technical words, such as scopes. */
export const Tags = ({ texts }: { texts: readonly string[] }) =>
  texts.length === 0 ? (
    <span class="muted">None</span>
  ) : (
    <span class="tags">
      {texts.map((text) => (
        <span key={text} class="tag">
          {text}
        </span>
      ))}
    </span>
  )
