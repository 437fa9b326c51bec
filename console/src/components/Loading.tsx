/** Grey rows in place of content that is being loaded. */
export const LoadingRows = ({ count = 8, label = 'Loading' }: { count?: number; label?: string }) => (
  <div class="skeleton-rows" role="status" aria-label={label}>
    {Array.from({ length: count }, (_, index) => (
      <div key={index} class="skeleton-row">
        <span class="skeleton" style={{ width: '18%' }} />
        <span class="skeleton" style={{ width: `${42 - (index % 3) * 7}%` }} />
        <span class="skeleton" style={{ width: '14%' }} />
      </div>
    ))}
  </div>
)
