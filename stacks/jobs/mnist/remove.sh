#!/usr/bin/env bash
# Deletes what submit.sh submits: the jobs of the given groups (all without arguments) with their Services, and the code.
#
#   stacks/jobs/mnist/remove.sh                    all 64 jobs, and the ConfigMaps
#   stacks/jobs/mnist/remove.sh low high           the jobs of two groups
set -euo pipefail

groups=("$@")
[ $# -gt 0 ] || groups=(low high compact jobset)
for group in "${groups[@]}"; do
  case $group in low | high | compact | jobset) ;; *) echo "no group '$group'; write low, high, compact or jobset" >&2; exit 1 ;; esac
done
for team in a b c d; do
  for group in "${groups[@]}"; do
    kind=job
    [ "$group" = jobset ] && kind=jobset
    for ((round = 0; round < ${ROUNDS:-4}; round++)); do
      kubectl delete "$kind" "$group-$round" --namespace "team-$team" --ignore-not-found
      [ "$kind" = jobset ] || kubectl delete service "$group-$round" --namespace "team-$team" --ignore-not-found
    done
  done
  [ $# -gt 0 ] || kubectl delete configmap mnist --namespace "team-$team" --ignore-not-found
done
